"""What each value of an odd key is about, and where it is, by all that operations say of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import INFO, OK
from checkers.kernels import fitting, settling
from checkers.kernels.log import commit_unsure
from checkers.kernels.tables import Places
from checkers.log.placed import Placed, tell
from checkers.log.strays import SPARE, Told, set_apart
from checkers.numbering import Numbering, numbered
from checkers.parts import at_once

if TYPE_CHECKING:
    from checkers.log.facts import LogFacts

_MOVED = 1 << 16
"""So many places besides a value's first are told at once; if there are more, as many as needed."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Values and slots as operations tell of them, one after the other."""

    places: Places
    held: Ints32
    """By slot, the value."""
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


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be settled: the values of some keys, if slots tell of all others; or all, with
    numbers that are one for each key and value."""

    start: Ints64
    placed: Placed | None
    numbering: Numbering | None

    @property
    def is_owned(self) -> bool:
        return self.numbering is not None


def settled_values(facts: LogFacts, start: Ints64, placed: Placed | None) -> Settled:
    if placed is not None:
        settled = _settled(facts, _Task(start, placed, None), _MOVED)
        if settled is not None:
            return settled
    elements = facts.columns.elements
    numbering = numbered(elements, (facts.role > 0) & elements.told & _spoken(facts))
    facts.number = numbering.number
    settled = _settled(facts, _Task(start, None, numbering), _MOVED)
    assert settled is not None
    return settled


def _spoken(facts: LogFacts) -> Bools:
    """The elements of completed operations: what invocations say besides is not looked at, whether
    it was read or not."""
    rows = np.flatnonzero((facts.rows.outcome > 0) & (facts.begin < facts.end))
    # One more where the elements of one of them begin, one less where they end.
    step = np.zeros(facts.number.size + 1, np.int8)
    step[facts.begin[rows]] += 1
    step[facts.end[rows]] -= 1
    spoken: Bools = np.cumsum(step[:-1], dtype=np.int8) > 0
    return spoken


def _settled(facts: LogFacts, task: _Task, cap: int) -> Settled | None:
    """None if many values are of several keys though each has one number. With one key for each
    value it does not matter in which order they are seen. Sends and polls are seen side by side."""
    start, numbering = task.start, task.numbering
    table, held, bound = _emptied(facts, task)
    count = table.shape[1] - (0 if task.is_owned else SPARE)
    places = _places(table, count, numbering)
    told = [Told.of(facts.key_count, cap) for _ in range(3)]
    _settle(facts, task, table, places, held, bound, told)
    strays = np.empty(0, np.int64) if numbering is None else numbering.strays
    many = max(int(one.counts[settling.MOVED]) for one in told) > cap
    if many and any(one.counts[settling.STRAYS] for one in told):
        return None
    astray = _astray(start, places.owner, told)
    if astray.size and not many:
        apart = set_apart(facts, start, astray, table, held, bound)
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
        # Strays were numbered already; those numbers are no good for another try.
        return None if astray.size else _settled(facts, task, most)
    moved = np.concatenate([one.moved[: one.counts[settling.MOVED]] for one in told])
    sends, polled, placed = (int(each) for each in counts.sum(axis=0)[:3])
    if task.placed is not None:
        sends, polled, placed = task.placed.sends, task.placed.polled, task.placed.placed
    return Settled(
        places=places,
        held=held,
        strays=strays,
        moved=moved,
        committed=committed,
        doubtful=np.any([one.doubtful for one in told], axis=0),
        bound=bound,
        sends=sends,
        polled=polled,
        placed=placed,
    )


def _emptied(facts: LogFacts, task: _Task) -> tuple[Ints32, Ints32, Ints32]:
    """Columns by value, as in Places, the last being the first slot that was polled; what slots
    hold; and bounds by key. Nothing is told yet but what slots tell of other keys."""
    if task.numbering is not None:
        table = np.empty((6, task.numbering.owner.size), np.int32)
        held = np.full(int(task.start[-1]), -1, np.int32)
        bound = np.full(facts.key_count, -1, np.int32)
    else:
        assert task.placed is not None
        table = np.empty((6, task.placed.where.size + SPARE), np.int32)
        held, bound = task.placed.log.held, task.placed.bound
        for key in np.flatnonzero(task.placed.keys.odd):
            held[task.start[key] : task.start[key + 1]] = -1
            bound[key] = -1
    at_once(tuple(partial(column.fill, -1) for column in table), size=facts.number.size)
    return table, held, bound


def _settle(
    facts: LogFacts,
    task: _Task,
    table: Ints32,
    places: Places,
    held: Ints32,
    bound: Ints32,
    told: list[Told],
) -> None:
    sending, polling = facts.rows.senders, facts.rows.pollers
    chosen = np.ones(facts.key_count, np.bool_)
    if task.placed is not None:
        chosen = task.placed.keys.odd
        sending = polling = facts.rows_about(np.flatnonzero(chosen))
    work = max(facts.work_in(sending), facts.work_in(polling))
    given = (chosen, task.is_owned, facts.rows, facts.cells, facts.shift)
    first_shown = table[5, : places.owner.size]
    shown = places._replace(first=first_shown)
    settle_sends = fitting(settling.settle_sends, work)
    settle_polls = fitting(settling.settle_polls, work)
    sends = partial(settle_sends, sending, *given, places, *told[0])
    polls = partial(settle_polls, polling, *given, shown, held, bound, *told[1])
    at_once((polls, sends), size=facts.number.size)
    settling.bring_together(task.is_owned, task.start, places, first_shown, held, *told[2])
    if task.placed is not None:
        tell(facts, task.placed, places)


def _committed(facts: LogFacts, places: Places, told: Told) -> Ints8:
    """Which operations certainly took effect; and where those of unknown outcome put values."""
    unsure = np.flatnonzero(facts.rows.outcome == INFO).astype(np.int32)
    work = facts.work_in(unsure)
    committed: Ints8 = (facts.rows.outcome == OK).view(np.int8)
    spans = (facts.begin, facts.end, facts.cells)
    fitting(commit_unsure, work)(unsure, *spans, places.reader, committed)
    given = (*spans, committed, facts.shift, places)
    fitting(settling.place_unsure, work)(unsure, *given, *told)
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
