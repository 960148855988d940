"""By value and by slot: what completed operations say of the records of a log, all together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import INFO, OK
from checkers.kernels import settling
from checkers.kernels import values as kernels
from checkers.kernels.log import commit_unsure
from checkers.kernels.tables import Log, Places
from checkers.log.strays import SPARE, Told, set_apart
from checkers.numbering import Numbering, numbered, room_for
from checkers.parts import at_once, in_halves

if TYPE_CHECKING:
    from checkers.log.facts import LogFacts

_MOVED = 1 << 16
"""So many places besides a value's first are told at once; if there are more, as many as needed."""


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

        in_halves(self._start.size - 1, half, size=self._held.size)
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
    log: Log
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
    def held(self) -> Ints32:
        return self.log.held

    @property
    def rank(self) -> Ints32:
        return self.ranking.of_slots


@dataclass(frozen=True, slots=True)
class Settled:
    """Values and slots as operations tell of them, one after the other."""

    places: Places
    log: Log
    strays: Ints64
    moved: Ints64
    """Values and slots, where a value has several."""
    committed: Ints8
    doubtful: Bools
    bound: Ints32
    sends: int
    polled: int
    placed: int
    """How many polled records have an offset."""


def settled_values(facts: LogFacts, start: Ints64) -> Settled:
    table = room_for(facts.survey.width, facts.survey.count) if facts.survey.near else None
    if table is not None:
        starts, count = np.cumsum(table) - table, int(table.sum())
        settled = _settled(facts, start, starts, count, None, _MOVED)
        if settled is not None:
            return settled
    elements = facts.columns.elements
    numbering = numbered(elements, (facts.role > 0) & elements.told)
    facts.number = numbering.number
    starts, count = np.zeros(1, np.int64), numbering.owner.size
    settled = _settled(facts, start, starts, count, numbering, _MOVED)
    assert settled is not None
    return settled


def _settled(
    facts: LogFacts,
    start: Ints64,
    starts: Ints64,
    count: int,
    numbering: Numbering | None,
    cap: int,
) -> Settled | None:
    """None if many values that have yet to be numbered are of several keys. With one key for each
    value it does not matter in which order they are seen. Sends and polls are seen side by side."""
    is_known = numbering is not None
    table = np.empty((6, count + (0 if is_known else SPARE)), np.int32)
    log = Log(*np.empty((4, int(start[-1])), np.int32))
    places = _places(table, count, numbering)
    first_shown = table[5, :count]
    told = [Told.of(facts.key_count, cap) for _ in range(3)]
    given = (is_known, facts.rows, facts.cells, starts, facts.shift)
    bound = np.full(facts.key_count, -1, np.int32)
    shown = places._replace(first=first_shown)
    sends = partial(settling.settle_sends, *given, places, log, facts.called, *told[0])
    polls = partial(settling.settle_polls, *given, shown, log, bound, *told[1])
    _side_by_side(facts, table, log, sends, polls)
    settling.bring_together(is_known, start, places, first_shown, log.held, *told[2])
    strays = np.empty(0, np.int64) if numbering is None else numbering.strays
    many = max(int(one.counts[settling.MOVED]) for one in told) > cap
    if many and any(one.counts[settling.STRAYS] for one in told):
        return None
    astray = _astray(start, places.owner, told)
    if astray.size and not many:
        apart = set_apart(facts, (starts, start), astray, table, log, bound)
        if apart is None:
            return None
        told = [*(_without(astray, one) for one in told), apart.told]
        strays = apart.strays
        places = _places(table, count + strays.size, numbering)
    told.append(Told.of(facts.key_count, cap))
    committed = _committed(facts, places, told[-1])
    counts = np.array([one.counts for one in told])
    most = int(counts[:, settling.MOVED].max())
    if most > cap:
        return _settled(facts, start, starts, count, numbering, most)
    moved = np.concatenate([one.moved[: one.counts[settling.MOVED]] for one in told])
    return Settled(
        places=places,
        log=log,
        strays=strays,
        moved=moved,
        committed=committed,
        doubtful=np.any([one.doubtful for one in told], axis=0),
        bound=bound,
        sends=int(counts[:, settling.SENDS].sum()),
        polled=int(counts[:, settling.POLLED].sum()),
        placed=int(counts[:, settling.PLACED].sum()),
    )


def _committed(facts: LogFacts, places: Places, told: Told) -> Ints8:
    """Which operations certainly took effect; and where those of unknown outcome put values."""
    unsure = np.flatnonzero(facts.rows.outcome == INFO).astype(np.int32)
    committed: Ints8 = (facts.rows.outcome == OK).view(np.int8)
    commit_unsure(unsure, facts.begin, facts.end, facts.cells, places.reader, committed)
    given = (unsure, facts.begin, facts.end, facts.cells, committed, facts.shift)
    settling.place_unsure(*given, places, *told)
    return committed


def _places(table: Ints32, count: int, numbering: Numbering | None) -> Places:
    owner, writer, reader, other, first = table[:5, :count]
    owner = owner if numbering is None else numbering.owner
    return Places(owner, writer, reader, other, first, first)


def _astray(start: Ints64, owner: Ints32, told: list[Told]) -> Ints64:
    """The numbers of values that have a slot of another key, or may have."""
    moved = np.concatenate([one.moved[: one.counts[settling.MOVED]] for one in told])
    value, slot = moved[:, 0], moved[:, 1]
    keys = np.searchsorted(start, slot, side="right") - 1
    # What was only ever polled, and never with an offset, has no key yet.
    return np.unique(value[(slot < 0) | (keys != owner[value])])


def _without(astray: Ints64, told: Told) -> Told:
    """What was told of other values."""
    moved = told.moved[: told.counts[settling.MOVED]]
    moved = moved[~np.isin(moved[:, 0], astray)]
    counts = told.counts.copy()
    counts[settling.MOVED] = len(moved)
    return Told(told.doubtful, moved, counts)


def _side_by_side(
    facts: LogFacts,
    table: Ints32,
    log: Log,
    sends: Callable[[], None],
    polls: Callable[[], None],
) -> None:
    """Columns are -1 at first. Memory that is new is slow, and polls take longer: so both threads
    ask for theirs, and only then one of them for that of sends."""
    owner, writer, reader, other_reader, first, first_shown = table
    of_polls = (reader, other_reader, first_shown, log.held, log.shown)

    def half(low: int, high: int) -> None:
        for column in of_polls:
            column[column.size * low // 2 : column.size * high // 2] = -1

    def emptied_sends() -> None:
        for column in (owner, writer, first, log.acked, log.called):
            column.fill(-1)
        sends()

    in_halves(2, half, size=facts.number.size)
    at_once((polls, emptied_sends), size=facts.number.size)


def fill(facts: LogFacts, settled: Settled, start: Ints64) -> tuple[Values, Slots, int]:
    """What slots hold; and how many hold anything."""
    held, doubtful, places = settled.log.held, settled.doubtful, settled.places
    doubtful[places.owner[settled.moved[:, 0]]] = True

    width = np.diff(start)
    there = np.flatnonzero(width)
    if there.size:
        doubtful[there] |= np.minimum.reduceat(held, start[there]) < 0
    used = int(width[~doubtful].sum())
    bound = settled.bound
    furthest = np.where(bound >= 0, held[np.maximum(bound, 0)] if held.size else -1, -1)
    furthest = furthest.astype(np.int32)
    clash = np.zeros(held.size, np.int8)
    if doubtful.any():
        if settled.moved.size:
            places = places._replace(last=places.first.copy())
        used += kernels.fill_doubtful(
            start, places, settled.moved, settled.strays, doubtful, held, clash
        )
        kernels.bound_doubtful(places, settled.moved, doubtful, bound, furthest)
    ranking = Ranking(start, held, places.owner.size)
    slots = Slots(start, settled.log, clash, ranking, doubtful, bound, furthest)
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
