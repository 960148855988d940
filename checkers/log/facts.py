"""What a history says of its logs: who wrote which value, where it is, who was shown it.

Jepsen's definitions. An operation took effect if it is ok, or if it is info and one of its values
was shown by an ok poll. The log of a key is what polls of every operation showed, for a consumer
must never be shown bad data, and what producers that took effect were told. Ranks are offsets
without the gaps. Where an offset has several values the least of them stands for it, so that the
same history always gives the same ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import Columns
from checkers.kernels import log as kernels
from checkers.numbering import numbered
from harness.history import kinds

if TYPE_CHECKING:
    from checkers.log.jumps import Jumps

SEND, POLL = 1, 2
_ROLES = np.zeros(128, np.int8)
_ROLES[[kinds.SEND, kinds.SENT, kinds.OUT]] = SEND
_ROLES[kinds.RECORD] = POLL

_SPARSE = 4
_SPARE = 1 << 16


@dataclass(frozen=True, slots=True)
class Values:
    """By number of value; -1 where there is nothing to tell."""

    key: Ints32
    writer: Ints32
    """The row of the operation that sent it; the surest, if several did."""
    reader: Ints32
    """The first element of an ok poll that shows it."""
    other_reader: Ints32
    """The first element that shows it in an operation that was not ok."""
    first: Ints32
    last: Ints32
    """The first and the last slot that it is in."""
    index: Ints32
    """Its rank, by the last slot that it stands for."""


@dataclass(frozen=True, slots=True)
class Slots:
    """By slot: an offset of a key."""

    start: Ints64
    """The first slot of each key, and the end of all."""
    held: Ints32
    clash: Ints8
    rank: Ints32


class LogFacts:
    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        elements = columns.elements
        self.role: Ints8 = _ROLES[elements.kind]
        wanted: Bools = (self.role > 0) & elements.told
        numbering = numbered(elements, wanted)
        self.number = numbering.number
        self._strays = numbering.strays
        self.key_count = len(columns.history.keys)
        begin, end = columns.spans
        self.begin, self.end = begin, end
        count = numbering.owner.size
        writer = np.full(count, -1, np.int32)
        reader = np.full(count, -1, np.int32)
        other_reader = np.full(count, -1, np.int32)
        sends, polled = kernels.witnesses_of_values(
            columns.outcome, begin, end, self.role, self.number, writer, reader, other_reader
        )
        self.sends, self.polled = int(sends), int(polled)
        self.committed = kernels.commitments(
            columns.outcome, begin, end, self.role, self.number, reader
        )
        self._slot_offsets: Ints64 | None = None
        self.base, self.offset = self._offsets()
        self.slots, first, last, index = self._slots(count)
        self.values = Values(
            key=numbering.owner,
            writer=writer,
            reader=reader,
            other_reader=other_reader,
            first=first,
            last=last,
            index=index,
        )

    def _offsets(self) -> tuple[Ints64, Ints64]:
        """The first offset of each key, and every element's offset from there. Where offsets are
        far apart they are ranked, so that tables need no more room than there are elements."""
        elements = self.columns.elements
        lowest = np.full(self.key_count, -1, np.int64)
        highest = np.full(self.key_count, -1, np.int64)
        count = kernels.extents(self.role, elements.key, elements.offset, lowest, highest)
        self.width = np.where(lowest >= 0, highest - lowest + 1, 0)
        if int(self.width.sum()) <= _SPARSE * count + _SPARE:
            return np.maximum(lowest, 0), elements.offset
        return self._ranked()

    def _ranked(self) -> tuple[Ints64, Ints64]:
        elements = self.columns.elements
        placed = np.flatnonzero((self.role > 0) & (elements.offset >= 0))
        order = np.lexsort((elements.offset[placed], elements.key[placed]))
        key = elements.key[placed][order]
        offset = elements.offset[placed][order]
        new_key = np.ones(order.size, np.bool_)
        new_key[1:] = key[1:] != key[:-1]
        new = new_key.copy()
        new[1:] |= offset[1:] != offset[:-1]
        place = np.cumsum(new) - 1
        rank = place - np.maximum.accumulate(np.where(new_key, place, 0))
        ranked = np.full(elements.offset.size, -1, np.int64)
        ranked[placed[order]] = rank
        ranked.flags.writeable = False
        self._slot_offsets = offset[new]
        self.width[:] = 0
        np.maximum.at(self.width, key, rank + 1)
        return np.zeros(self.key_count, np.int64), ranked

    def _slots(self, count: int) -> tuple[Slots, Ints32, Ints32, Ints32]:
        start = np.zeros(self.key_count + 1, np.int64)
        np.cumsum(self.width, out=start[1:])
        assert max(start[-1], self.number.size) < 1 << 31, "places and elements are 32 bits wide"
        held = np.full(int(start[-1]), -1, np.int32)
        clash = np.zeros(held.size, np.int8)
        first = np.full(count, -1, np.int32)
        last = np.full(count, -1, np.int32)
        self.shift = start[:-1] - self.base
        kernels.fill_slots(*self.log_columns, self._strays, held, clash, first, last)
        rank = np.full(held.size, -1, np.int32)
        index = np.full(count, -1, np.int32)
        kernels.ranks(start, held, rank, index)
        return Slots(start, held, clash, rank), first, last, index

    @property
    def log_columns(
        self,
    ) -> tuple[Ints8, Ints8, Ints64, Ints64, Ints8, Ints32, Ints64, Ints32, Ints64]:
        """The arguments that kernels over the log have in common."""
        return (
            self.columns.outcome,
            self.committed,
            self.begin,
            self.end,
            self.role,
            self.columns.elements.key,
            self.offset,
            self.number,
            self.shift,
        )

    def offset_at(self, slot: int, key: int) -> int:
        if self._slot_offsets is not None:
            return int(self._slot_offsets[slot])
        return int(slot - self.shift[key])

    @cached_property
    def floors(self) -> Ints64:
        """For each key the slot below which records may be gone, because the log was cut there."""
        elements = self.columns.elements
        floor = self.slots.start[:-1].copy()
        for element in np.flatnonzero((elements.kind == kinds.LOW) & (elements.offset > 0)):
            key = elements.key[element]
            slot = self.slot_from(int(element))
            floor[key] = max(floor[key], slot if slot >= 0 else self.slots.start[key + 1])
        return floor

    def slot_from(self, element: int) -> int:
        """The first slot at or after the offset that an element tells; -1 if the log has none."""
        elements = self.columns.elements
        key, offset = int(elements.key[element]), int(elements.offset[element])
        begin, end = int(self.slots.start[key]), int(self.slots.start[key + 1])
        if self._slot_offsets is not None:
            slot = begin + int(np.searchsorted(self._slot_offsets[begin:end], offset))
        else:
            slot = max(begin, offset + int(self.shift[key]))
        return slot if slot < end else -1

    @cached_property
    def poll_jumps(self) -> Jumps:
        from checkers.log.jumps import jumps_of_polls

        return jumps_of_polls(self)

    @cached_property
    def send_jumps(self) -> Jumps:
        from checkers.log.jumps import jumps_of_sends

        return jumps_of_sends(self)
