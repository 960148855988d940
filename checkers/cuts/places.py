"""Records that are not where their operations say: of unknown offset, or at several offsets.

Checkers compare records by the place that a value has in the log after all mentions are known, so
what a process did before and after such a record matters, too. Those places are known only once the
smaller history is there; then lanes.py goes by these places instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.cuts.lanes import ODD, Entries
from checkers.cuts.unsure import Unsure
from checkers.log.facts import LogFacts


@dataclass(frozen=True, slots=True)
class Places:
    """By key and value the offset that the record has; -1 if the log does not have it."""

    offsets: dict[tuple[int, int], int]

    @property
    def values(self) -> Ints64:
        return np.unique(np.array([value for _, value in self.offsets], np.int64))

    def moved(self, entries: Entries, values: Ints64) -> Entries:
        """`values`: those of the records of all entries, side by side."""
        count = entries.last - entries.first + 1
        of = np.repeat(np.arange(count.size), count)
        hit = np.flatnonzero(np.isin(values, self.values))
        names = zip(entries.key[of[hit]].tolist(), values[hit].tolist(), strict=True)
        found = zip(hit.tolist(), map(self.offsets.get, names), strict=True)
        places = {one: place for one, place in found if place is not None}
        if not places:
            return entries
        split = np.zeros(count.size, np.bool_)
        split[of[list(places)]] = True
        # A stretch with such a record is taken apart; it has a few dozens.
        records = np.flatnonzero(split[of])
        return entries.some(~split).and_then(_single(entries, values, of, records, places))


def _single(
    entries: Entries, values: Ints64, of: Ints64, records: Ints64, places: dict[int, int]
) -> Entries:
    """An entry for each of these records."""
    one = entries.some(of[records])
    within = records - np.searchsorted(of, of[records])
    place = np.array([places.get(each, -2) for each in records.tolist()], np.int64)
    is_moved = place > -2
    offset = np.where(is_moved, place, one.first + within)
    value = values[records]
    sort = np.where(is_moved, ODD, one.sort).astype(np.int8)
    return Entries(
        *(one.process, one.key, one.role, one.row, one.number + within, offset, offset),
        *(value, value, sort),
    )


def places_of(facts: LogFacts, unsure: Unsure) -> Places:
    """Of the smaller history, the records of which some mention has another offset, or none,
    except where `unsure` says the same."""
    elements, number = facts.columns.elements, facts.number
    numbered = np.flatnonzero((number >= 0) & ~elements.boxed)
    value, said = elements.value[numbered], elements.offset[numbered]
    offset = _offsets(facts, number[numbered])
    is_known = np.zeros(offset.size, np.bool_)
    if unsure.value.size:
        at = np.minimum(np.searchsorted(unsure.value, value), unsure.value.size - 1)
        is_known = (unsure.value[at] == value) & (unsure.offset[at] == offset) & (said < 0)
    found = np.flatnonzero((offset != said) & ~is_known)
    keys = elements.key[numbered[found]].tolist()
    names = zip(keys, value[found].tolist(), strict=True)
    return Places(dict(zip(names, offset[found].tolist(), strict=True)))


def _offsets(facts: LogFacts, number: Ints32) -> Ints64:
    """By record, of the value with this number."""
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
