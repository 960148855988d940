"""What a history says of its logs: who wrote which value, where it is, who was shown it.

Jepsen's definitions. An operation took effect if it is ok, or if it is info and one of its values
was shown by an ok poll. The log of a key is what polls of every operation showed, for a consumer
must never be shown bad data, and what producers that took effect were told. Ranks are offsets
without the gaps. Where an offset has several values the least of them stands for it, so that the
same history always gives the same ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import Columns
from checkers.kernels import fitting
from checkers.kernels.log import rows_about
from checkers.kernels.realtime import in_time
from checkers.kernels.rows import calls_of
from checkers.kernels.survey import others_of, rows_doing
from checkers.kernels.tables import Cells, Rows
from checkers.log.placed import Placed, placed_values
from checkers.log.settled import Settled, settled_values
from checkers.log.survey import survey
from checkers.log.values import (
    Marks,
    Values,
    even_slots,
    even_values,
    fill,
    marks_of,
    no_marks,
)
from checkers.parts import at_once, in_halves
from harness.history import kinds

if TYPE_CHECKING:
    from checkers.cuts.projection import Gone
    from checkers.log.jumps import Jumps

SEND, POLL = 1, 2
_ROLES = np.zeros(128, np.int8)
_ROLES[[kinds.SEND, kinds.SENT, kinds.OUT]] = SEND
_ROLES[kinds.RECORD] = POLL

_REPLACED, _CHANGED = 1, 2
"""What an operation does to that which is assigned: all of it, or some."""
_MOVES = {"assign": _REPLACED, "subscribe": _REPLACED}
_MOVES |= dict.fromkeys(("assigned", "revoked", "lost"), _CHANGED)

_SPARSE = 4
_SPARE = 1 << 16


def _moves(columns: Columns) -> Ints8:
    by_name = [_MOVES.get(name, 0) for name in columns.ops.names]
    if not any(by_name):
        return np.zeros(columns.ops.f.size, np.int8)
    return np.array([*by_name, 0], np.int8)[columns.ops.f]


class LogFacts:
    def __init__(self, columns: Columns, *, gone: Gone | None = None) -> None:
        """`gone`: records of a larger history that this one is a part of (checkers/cuts)."""
        self.columns = columns
        self._gone = gone
        self.key_count = len(columns.history.keys)
        self.number = np.empty(columns.elements.op.size, np.int32)
        self.survey = survey(columns, self.key_count, self.number)
        self.begin, self.end = self.survey.spans
        self._slot_offsets: Ints64 | None = None
        self.base, self.offset = self._offsets()
        start = np.zeros(self.key_count + 1, np.int64)
        np.cumsum(self.width, out=start[1:])
        assert max(start[-1], self.number.size) < 1 << 31, "places and elements are 32 bits wide"
        self.shift = start[:-1] - self.base
        self.moves = _moves(columns)
        self.rows = self._rows()
        self._placed = placed = placed_values(self, start)
        self._even = placed if placed is not None and not placed.keys.odd.any() else None
        """Where all values are, if nothing is odd about any log."""
        told: Placed | Settled
        if self._even is not None:
            told = self._even
            self.slots, self.known = even_slots(told)
        else:
            told = settled_values(self, start, placed)
            self.values, self.slots, self.known = fill(told, start)
        self.sends, self.polled, self.placed = told.sends, told.polled, told.placed
        self.committed = told.committed

    def _rows(self) -> Rows:
        columns, roles = self.columns, self.survey.roles

        def doing(role: int) -> Ints32:
            rows = np.empty(roles.size + 1, np.int32)
            return rows[: rows_doing(role, columns.outcome, roles, self.moves, rows)]

        found = (partial(doing, SEND), partial(doing, POLL), lambda: self.called)
        senders, pollers, _ = at_once(found, size=self.number.size)
        return Rows(
            columns.outcome,
            columns.ops.type,
            columns.ops.process,
            roles,
            self.begin,
            self.end,
            self.survey.plain,
            senders,
            pollers,
        )

    @property
    def cells(self) -> Cells:
        elements = self.columns.elements
        return Cells(
            elements.kind,
            elements.key,
            self.offset,
            elements.value,
            elements.told,
            self.number,
        )

    @cached_property
    def role(self) -> Ints8:
        """Of each element. Little by little: numpy makes indices of 64 bits first."""
        kind = self.columns.elements.kind
        role = np.empty(kind.size, np.int8)
        for low in range(0, kind.size, _SPARE):
            role[low : low + _SPARE] = _ROLES[kind[low : low + _SPARE]]
        return role

    def prepare(self) -> None:
        """What several checkers share, worked out by both threads."""
        _ = self.called, self.floors
        shared: tuple[Callable[[], object], ...] = (
            lambda: self.send_jumps,
            lambda: self.poll_jumps,
            lambda: self.marks,
            lambda: self.in_time,
        )
        at_once(shared, size=self.number.size)

    def of_kind(self, *wanted: int) -> Ints64:
        """The elements of these kinds."""
        if not self.survey.kinds[list(wanted)].any():
            return np.empty(0, np.int64)
        if _ROLES[list(wanted)].any():
            return np.flatnonzero(np.isin(self.columns.elements.kind, wanted))
        return self._others[np.isin(self.columns.elements.kind[self._others], wanted)]

    @cached_property
    def _others(self) -> Ints64:
        """Elements that are neither sent nor polled: few, and asked for by many checkers."""
        others = np.empty(int(self.survey.kinds[_ROLES == 0].sum()), np.int64)
        elements = self.columns.elements
        spans = (self.begin, self.end, elements.op)
        others_of(*spans, elements.kind, self.survey.plain, others)
        return others

    @cached_property
    def called(self) -> Ints32:
        """When each operation was invoked; as `Columns.call`, in half the room."""
        call = np.empty(self.columns.partner.size, np.int32)
        calls_of(self.columns.ops.type, self.columns.partner, call)
        return call

    @cached_property
    def mixed(self) -> Bools:
        """Operations that both send and poll."""
        both: Bools = (self.survey.roles == SEND | POLL) & (self.columns.outcome > 0)
        return both

    @cached_property
    def both(self) -> bool:
        """Whether there are any."""
        return bool(self.mixed.any())

    @cached_property
    def values(self) -> Values:
        assert self._even is not None, "of odd logs they are told before"
        return even_values(self, self._even)

    @property
    def slot_of_value(self) -> Ints32:
        """The first; below 0 if there is none."""
        return self.values.first if self._even is None else self._even.where

    @cached_property
    def in_time(self) -> tuple[int, Bools]:
        """How many records were acknowledged at offsets beyond doubt; and the keys of which a
        record, or a poll, may have been told too early."""
        late, acked, others = np.zeros(self.key_count, np.bool_), 0, np.arange(self.key_count)
        if self._placed is not None:
            told = self._placed.keys
            late |= told.late
            acked = int(told.acked[~told.odd].sum())
            others = np.flatnonzero(told.odd)
        if others.size:
            acked += self._in_time(others, late)
        return acked, late

    def _in_time(self, keys: Ints64, late: Bools) -> int:
        """As in_time, of odd keys."""
        slots = self.slots
        given = (slots.start, slots.held, slots.clash, self.values.places)
        then = (self.columns.elements.op, self.columns.outcome, self.called)
        work = int((slots.start[keys + 1] - slots.start[keys]).sum())

        def half(low: int, high: int) -> int:
            return int(fitting(in_time, work)(keys[low:high], *given, *then, late))

        return sum(in_halves(keys.size, half, size=work))

    @cached_property
    def marks(self) -> Marks:
        return marks_of(self) if self._even is None else no_marks(self, self._even)

    def _offsets(self) -> tuple[Ints64, Ints64]:
        """The first offset of each key, and every element's offset from there. Where offsets are
        far apart they are ranked, so that tables need no more room than there are elements."""
        lowest, highest = self.survey.lowest, self.survey.highest
        self.width = np.where(lowest >= 0, highest - lowest + 1, 0)
        # Not as integers: of a few keys whose offsets go far enough, the sum would be small again.
        room = np.where(lowest >= 0, highest.astype(np.float64) - lowest + 1, 0).sum()
        if room <= _SPARSE * self.survey.placed + _SPARE:
            return np.maximum(lowest, 0), self.columns.elements.offset
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

    def role_at(self, where: int | slice) -> Any:
        """As `role`, of few."""
        return _ROLES[self.columns.elements.kind[where]]

    def rows_about(self, keys: Ints32 | Ints64) -> Ints32:
        """Completed operations that may speak of these keys."""
        wanted = np.zeros(self.key_count, np.bool_)
        wanted[keys] = True
        found = np.empty(self.rows.outcome.size + 1, np.int32)
        return found[: rows_about(wanted, self.rows, self.columns.elements.key, found)]

    def work_in(self, rows: Ints32 | Ints64) -> int:
        """How many elements they have."""
        return int((self.end[rows] - self.begin[rows]).sum())

    def key_at(self, slots: Ints64) -> Ints64:
        return np.searchsorted(self.slots.start, slots, side="right") - 1

    def offset_at(self, slot: int, key: int) -> int:
        if self._slot_offsets is not None:
            return int(self._slot_offsets[slot])
        return int(slot - self.shift[key])

    def rank_at(self, slot: int, key: int) -> int:
        """The rank of a slot in the log, and in that of the larger history if there is one."""
        rank = int(self.slots.rank[slot])
        if self._gone is None or rank < 0:
            return rank
        mine = range(int(self.slots.start[key]), int(self.slots.start[key + 1]))
        held = np.flatnonzero(self.slots.held[mine.start : mine.stop] >= 0) + mine.start
        kept = np.array([self.offset_at(one, key) for one in held.tolist()], np.int64)
        offset = np.array([self.offset_at(slot, key)], np.int64)
        return rank + int(self._gone.below(key, offset, kept)[0])

    def rank_of(self, number: int) -> int:
        """The rank of a value, by the last slot that it stands for; -1 if it is not in the log."""
        rank, key = int(self.values.index[number]), int(self.values.key[number])
        if self._gone is None or rank < 0:
            return rank
        begin, end = int(self.slots.start[key]), int(self.slots.start[key + 1])
        return self.rank_at(begin + int(np.argmax(self.slots.rank[begin:end] == rank)), key)

    @cached_property
    def floors(self) -> Ints64:
        """For each key the slot below which records may be gone, because the log was cut there."""
        elements = self.columns.elements
        floor = self.slots.start[:-1].copy()
        for element in self.of_kind(kinds.LOW):
            if elements.offset[element] <= 0:
                continue
            key = elements.key[element]
            slot = self.slot_from(int(element))
            floor[key] = max(floor[key], slot if slot >= 0 else self.slots.start[key + 1])
        return floor

    def slot_from(self, element: int) -> int:
        """The first slot at or after the offset that an element tells; -1 if the log has none."""
        elements = self.columns.elements
        key = int(elements.key[element])
        slot = self.slot_at(key, int(elements.offset[element]))
        return slot if slot < int(self.slots.start[key + 1]) else -1

    def slot_at(self, key: int, offset: int) -> int:
        """The first slot at or after this offset of the key's log, or the end of its slots."""
        begin, end = int(self.slots.start[key]), int(self.slots.start[key + 1])
        if self._slot_offsets is not None:
            return begin + int(np.searchsorted(self._slot_offsets[begin:end], offset))
        return min(max(begin, offset + int(self.shift[key])), end)

    @cached_property
    def poll_jumps(self) -> Jumps:
        from checkers.log.jumps import jumps_of_polls

        return jumps_of_polls(self)

    @cached_property
    def send_jumps(self) -> Jumps:
        from checkers.log.jumps import jumps_of_sends

        return jumps_of_sends(self)
