"""Records whose offset is not the one that an operation reports, or that no operation reports.

Checkers compare records by the offset that a value has after all mentions are known, so what a
process did before and after such a record matters, too. These offsets are known only when the
smaller history has been made. Then lanes.py compares entries by the corrected offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.cuts.lanes import UNCLEAR, Entries
from checkers.cuts.unacknowledged import Unacknowledged
from checkers.log.facts import LogFacts

_NOT_CORRECTED: Final = -2


@dataclass(frozen=True, slots=True)
class CorrectedOffsets:
    """By key and value, the offset of the record; -1 if the log does not have it."""

    offsets: dict[tuple[int, int], int]

    @property
    def values(self) -> Ints64:
        return np.unique(np.array([value for _, value in self.offsets], np.int64))

    def applied_to(self, entries: Entries, values: Ints64) -> Entries:
        """The entries with these offsets. `values` are those of all records, entry by entry."""
        count = entries.last - entries.first + 1
        of = np.repeat(np.arange(count.size), count)
        hit = np.flatnonzero(np.isin(values, self.values))
        names = zip(entries.key[of[hit]].tolist(), values[hit].tolist(), strict=True)
        found = zip(hit.tolist(), map(self.offsets.get, names), strict=True)
        corrections = {one: offset for one, offset in found if offset is not None}
        if not corrections:
            return entries
        split = np.zeros(count.size, np.bool_)
        split[of[list(corrections)]] = True
        # A stretch with such a record becomes single entries; it has a few dozen records.
        records = np.flatnonzero(split[of])
        return entries.select(~split).concat(
            _single_entries(entries, values, of, records, corrections)
        )


def _single_entries(
    entries: Entries, values: Ints64, of: Ints64, records: Ints64, corrections: dict[int, int]
) -> Entries:
    """One entry for each of these records."""
    one = entries.select(of[records])
    within = records - np.searchsorted(of, of[records])
    corrected = np.array(
        [corrections.get(each, _NOT_CORRECTED) for each in records.tolist()], np.int64
    )
    is_moved = corrected > _NOT_CORRECTED
    offset = np.where(is_moved, corrected, one.first + within)
    value = values[records]
    status = np.where(is_moved, UNCLEAR, one.status).astype(np.int8)
    return Entries(
        *(one.process, one.key, one.role, one.row, one.number + within, offset, offset),
        *(value, value, status),
    )


def corrected_offsets(facts: LogFacts, unacked: Unacknowledged) -> CorrectedOffsets:
    """Records of the smaller history with a mention that reports another offset, or none.

    Those whose offset `unacked` has found already are left out.
    """
    elements, number = facts.columns.elements, facts.number
    numbered = np.flatnonzero((number >= 0) & ~elements.boxed)
    value, reported = elements.value[numbered], elements.offset[numbered]
    offset = _offsets(facts, number[numbered])
    is_known = np.zeros(offset.size, np.bool_)
    if unacked.value.size:
        at = np.minimum(np.searchsorted(unacked.value, value), unacked.value.size - 1)
        is_known = (unacked.value[at] == value) & (unacked.offset[at] == offset) & (reported < 0)
    found = np.flatnonzero((offset != reported) & ~is_known)
    keys = elements.key[numbered[found]].tolist()
    names = zip(keys, value[found].tolist(), strict=True)
    return CorrectedOffsets(dict(zip(names, offset[found].tolist(), strict=True)))


def _offsets(facts: LogFacts, number: Ints32) -> Ints64:
    """The offset of each of these numbered values; -1 if the log does not have it."""
    rank = facts.values.index[number]
    key = facts.values.key[number]
    found = np.full(rank.size, -1, np.int64)
    for of in np.unique(key[rank >= 0]).tolist():
        mine = np.flatnonzero((key == of) & (rank >= 0))
        begin, end = int(facts.slots.start[of]), int(facts.slots.start[of + 1])
        ranks = facts.slots.rank[begin:end]
        held = np.flatnonzero(ranks >= 0)
        # Ranks of slots that hold something rise.
        slots = begin + held[np.searchsorted(ranks[held], rank[mine])]
        found[mine] = [facts.offset_at(slot, of) for slot in slots.tolist()]
    return found
