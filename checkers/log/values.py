"""By value and by slot: what completed operations say of the records of a log, all together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import values as kernels
from checkers.kernels.tables import Places
from checkers.log.placed import Placed, middle_key, places_by_slots
from checkers.log.settled import Settled
from checkers.parts import in_halves

if TYPE_CHECKING:
    from checkers.log.facts import LogFacts


class Ranking:
    """Offsets without their gaps; worked out when it is asked for."""

    def __init__(self, start: Ints64, held: Ints32, values: int) -> None:
        self._start, self._held, self._values = start, held, values

    @cached_property
    def _both(self) -> tuple[Ints32, Ints32]:
        rank = np.full(self._held.size, -1, np.int32)
        index = np.full(self._values, -1, np.int32)

        def half(low: int, high: int) -> None:
            kernels.rank_slots(low, high, self._start, self._held, rank, index)

        middle = middle_key(self._start)
        in_halves(self._start.size - 1, half, size=self._held.size, middle=middle)
        return rank, index

    @property
    def of_slots(self) -> Ints32:
        return self._both[0]

    @property
    def of_values(self) -> Ints32:
        return self._both[1]


@dataclass(frozen=True, slots=True)
class Values:
    """By number of value; -1 where there is nothing to tell."""

    places: Places
    ranking: Ranking

    @property
    def key(self) -> Ints32:
        return self.places.owner

    @property
    def writer(self) -> Ints32:
        """The row of the operation that sent it; the surest, if several did."""
        return self.places.writer

    @property
    def reader(self) -> Ints32:
        """The first element of an ok poll that shows it."""
        return self.places.reader

    @property
    def other_reader(self) -> Ints32:
        """The first element that shows it in an operation that was not ok."""
        return self.places.other_reader

    @property
    def first(self) -> Ints32:
        """The first slot that it is in; `last`, the last."""
        return self.places.first

    @property
    def last(self) -> Ints32:
        return self.places.last

    @property
    def index(self) -> Ints32:
        """Its rank, by the last slot that it stands for."""
        return self.ranking.of_values


@dataclass(frozen=True, slots=True)
class Slots:
    """By slot: an offset of a key."""

    start: Ints64
    """The first slot of each key, and the end of all."""
    held: Ints32
    """The value; the least, if there are several."""
    clash: Ints8
    ranking: Ranking
    doubtful: Bools
    """By key: a slot has several values or none, a value several slots, or somebody was not told
    the offset. In all other logs a record's rank is its offset."""
    bound: Ints32
    """By key, the highest slot that an ok poll has surely reached; -1 if none."""
    furthest: Ints32
    """By key, the value there."""

    @property
    def rank(self) -> Ints32:
        return self.ranking.of_slots


def even_slots(placed: Placed) -> tuple[Slots, int]:
    """What slots hold of logs about which nothing is odd; and how many hold anything."""
    held = placed.log.held
    ranking = Ranking(placed.start, held, placed.where.size)
    clash = np.zeros(held.size, np.int8)
    furthest = _furthest(placed.bound, held)
    slots = Slots(placed.start, held, clash, ranking, placed.keys.gaps, placed.bound, furthest)
    return slots, int(np.count_nonzero(held >= 0)) if placed.keys.gaps.any() else held.size


def even_values(facts: LogFacts, placed: Placed) -> Values:
    return Values(places_by_slots(facts, placed), facts.slots.ranking)


def _furthest(bound: Ints32, held: Ints32) -> Ints32:
    """By key, the value at the highest slot that an ok poll has reached."""
    furthest = np.where(bound >= 0, held[np.maximum(bound, 0)] if held.size else -1, -1)
    return furthest.astype(np.int32)


def fill(settled: Settled, start: Ints64) -> tuple[Values, Slots, int]:
    """What slots hold; and how many hold anything."""
    held, doubtful, places = settled.held, settled.doubtful, settled.places
    doubtful[places.owner[settled.moved[:, 0]]] = True

    width = np.diff(start)
    there = np.flatnonzero(width)
    if there.size:
        doubtful[there] |= np.minimum.reduceat(held, start[there]) < 0
    used = int(width[~doubtful].sum())
    bound = settled.bound
    furthest = _furthest(bound, held)
    clash = np.zeros(held.size, np.int8)
    if doubtful.any():
        if settled.moved.size:
            places = places._replace(last=places.first.copy())
        used += kernels.fill_doubtful(
            start, places, settled.moved, settled.strays, doubtful, held, clash
        )
        kernels.bound_doubtful(places, settled.moved, doubtful, bound, furthest)
    ranking = Ranking(start, held, places.owner.size)
    slots = Slots(start, held, clash, ranking, doubtful, bound, furthest)
    return Values(places, ranking), slots, int(used)


@dataclass(frozen=True, slots=True)
class Marks:
    """What is wrong with values, as bits; and how many values could have been found wanting."""

    wrong: Ints8
    which: Ints64
    """The numbers of those with any."""
    shown: int
    acked: int
    due: int

    def having(self, bit: int) -> Ints64:
        """The values with that mark, by number."""
        return self.which[self.wrong[self.which] & bit > 0]


def no_marks(facts: LogFacts, placed: Placed) -> Marks:
    """Of logs about which nothing is odd: whatever was sent there was read, and the reverse."""
    start, held = placed.start, placed.log.held
    due = facts.known
    for key in np.flatnonzero(facts.floors > start[:-1]):
        due -= int(np.count_nonzero(held[start[key] : facts.floors[key]] >= 0))
    wrong = np.zeros(placed.where.size, np.int8)
    return Marks(wrong, np.empty(0, np.int64), facts.known, placed.sends, due)


def marks_of(facts: LogFacts) -> Marks:
    columns, places = facts.columns, facts.values.places
    called, floors = facts.called, facts.floors
    wrong = np.empty(places.owner.size, np.int8)

    def half(low: int, high: int) -> Ints64:
        counts = np.zeros(9, np.int64)
        kernels.mark(
            low,
            high,
            columns.elements.op,
            columns.outcome,
            facts.committed,
            called,
            places,
            facts.slots.doubtful,
            facts.slots.bound,
            floors,
            wrong,
            counts,
        )
        return counts

    counts = np.sum(in_halves(wrong.size, half, size=facts.number.size), axis=0)
    which = np.flatnonzero(wrong) if counts[3:].any() else np.empty(0, np.int64)
    return Marks(wrong, which, *map(int, counts[:3]))
