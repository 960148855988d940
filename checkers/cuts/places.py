"""Records that are not where their operations say: of unknown offset, or at several offsets.

Checkers compare records by the place that a value has in the log after all mentions are known, so
what a process did before and after such a record matters, too. Those places are known only once the
smaller history is there; then lanes.py goes by these places instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.cuts.mentions import Mentions
from checkers.log.facts import LogFacts


@dataclass(frozen=True, slots=True)
class Places:
    """By key and value the offset that the record has; -1 if the log does not have it."""

    offsets: dict[tuple[int, int], int]

    @property
    def values(self) -> Ints64:
        return np.unique(np.array([value for _, value in self.offsets], np.int64))

    def moved(self, mentions: Mentions) -> tuple[Bools, Ints64]:
        """Which mentions are elsewhere than they say, and the offsets of all."""
        offset = mentions.offset.copy()
        is_moved = np.zeros(offset.size, np.bool_)
        about = (mentions.role > 0) & mentions.is_int & np.isin(mentions.value, self.values)
        for at in np.flatnonzero(about).tolist():
            place = self.offsets.get((int(mentions.key[at]), int(mentions.value[at])))
            if place is not None:
                is_moved[at], offset[at] = True, place
        return is_moved, offset


def places_of(facts: LogFacts) -> Places:
    """Of the smaller history, the records of which some mention has another offset, or none."""
    elements, number = facts.columns.elements, facts.number
    numbered = np.flatnonzero((number >= 0) & ~elements.boxed)
    offsets: dict[int, int] = {}
    found: dict[tuple[int, int], int] = {}
    for element in numbered.tolist():
        one, key = int(number[element]), int(elements.key[element])
        if one not in offsets:
            offsets[one] = _offset(facts, one, key)
        if offsets[one] != int(elements.offset[element]):
            found[key, int(elements.value[element])] = offsets[one]
    return Places(found)


def _offset(facts: LogFacts, number: int, key: int) -> int:
    rank = int(facts.values.index[number])
    if rank < 0:
        return -1
    begin, end = int(facts.slots.start[key]), int(facts.slots.start[key + 1])
    slot = begin + int(np.argmax(facts.slots.rank[begin:end] == rank))
    return facts.offset_at(slot, key)
