"""A history of many objects, judged in parts that hold whole objects each.

Theory. `searched` (search.py) searches objects in the order of their first calls, in rounds with
growing budgets, and stops at the first object that is refuted. So two numbers decide which searches
a verdict is about: the round of a search, and the first call of its object. `summarise` searches
the objects of one part in one round, `merge` puts summaries of parts and of rounds together, and
`conclude` leaves out every search that comes after the first refutation. What is left is what
`searched` would have done, however the objects were shared out.

The caller merges the summaries of a round and begins the next one only if `open_objects` is not
empty, and searches only those objects again. So no object is searched with a larger budget than
`searched` would give it.

Times are the indices of rows, which grow with the rows: a part has fewer rows than the history, but
in the same order, and searches only compare times.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from checkers.arrays import Ints8, Ints64
from checkers.columns import Columns
from checkers.findings import Finding
from checkers.linear.calls import Call, calls
from checkers.linear.keyed import KEYED
from checkers.linear.search import shares
from checkers.linear.verdicts import Evidence, Searched, finding_of, verdict_on
from checkers.models import Question
from checkers.rule import broken
from checkers.verdict import Validity, Verdict
from harness.history.errors import HistoryError

_OPEN, _LINEARIZABLE, _REFUTED = 0, 1, 2
_ANSWERS: Final = {None: _OPEN, True: _LINEARIZABLE, False: _REFUTED}
_BEFORE_ALL: Final = -1
_Dated = TypeVar("_Dated")


class Moment(NamedTuple):
    """When `searched` comes to an object. Tuples compare by round, then by object."""

    round: int
    first: int
    """Index of the first call of the object."""


_NEVER: Final = Moment(1 << 62, 0)


@dataclass(frozen=True, slots=True)
class Tries:
    """Searches of objects, one row for each, in no order."""

    round: Ints64
    first: Ints64
    visited: Ints64
    answer: Ints8

    @classmethod
    def of(cls, rows: list[tuple[int, int, int, int]]) -> Tries:
        table = np.array(rows, np.int64).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(np.int8))

    def __add__(self, other: Tries) -> Tries:
        return Tries(
            np.concatenate((self.round, other.round)),
            np.concatenate((self.first, other.first)),
            np.concatenate((self.visited, other.visited)),
            np.concatenate((self.answer, other.answer)),
        )

    def last_of_each(self, until: Moment) -> Tries:
        """The last search of each object, of those up to this moment."""
        is_before = (self.round < until.round) | (
            (self.round == until.round) & (self.first <= until.first)
        )
        rows = np.flatnonzero(is_before)
        rows = rows[np.lexsort((self.round[rows], self.first[rows]))]
        first = self.first[rows]
        rows = rows[np.append(first[1:] != first[:-1], True)[: rows.size]]
        return Tries(self.round[rows], self.first[rows], self.visited[rows], self.answer[rows])


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of some objects."""

    tries: Tries = field(default_factory=lambda: Tries.of([]))
    refuted: tuple[Moment, Finding] | None = None
    """The first refutation."""
    evidence: Evidence = field(default_factory=Evidence)
    failed: tuple[Moment, Verdict] | None = None
    """The first operation or search at which the model broke, and the verdict that it leads to."""

    @property
    def until(self) -> Moment:
        """The last search that `searched` makes, as far as these objects say."""
        return _NEVER if self.refuted is None else self.refuted[0]

    @property
    def open_objects(self) -> Ints64:
        """First calls of the objects that have to be searched with a larger budget."""
        if self.refuted is not None or self.failed is not None:
            return np.empty(0, np.int64)
        last = self.tries.last_of_each(_NEVER)
        first: Ints64 = last.first[last.answer == _OPEN]
        return first


def summarise(
    columns: Columns,
    name: str,
    question: Question,
    *,
    round_: int = 0,
    only: Ints64 | None = None,
) -> Summary:
    """One round of the search of a part's objects, or of those with these first calls.

    `columns`: all rows of the part's objects. A part ends its round at its first refutation.
    """
    model = KEYED[name]
    watched = _Watched(columns, model.names)
    try:
        objects = model.objects(watched.calls(), question)
    except HistoryError as error:
        return Summary(failed=(watched.now, _unreadable(error)))
    except Exception as error:
        return Summary(failed=(watched.now, broken(name, error, model=name)))
    evidence = Evidence.of(columns, *model.names, asserted=objects.asserted)
    budget = [*shares(question.budget)][round_]
    chosen = None if only is None else set(only.tolist())
    tries: list[tuple[int, int, int, int]] = []
    refuted: tuple[Moment, Finding] | None = None
    for key, search in objects.searches.items():
        now = Moment(round_, watched.first[key])
        if chosen is not None and now.first not in chosen:
            continue
        try:
            outcome = search.run(budget)
            if outcome.linearizable is False:
                refuted = now, finding_of(columns, key, outcome)
        except Exception as error:
            failed = now, broken(name, error, model=name)
            return Summary(Tries.of(tries), None, evidence, failed)
        tries.append((*now, outcome.visited, _ANSWERS[outcome.linearizable]))
        if refuted is not None:
            break
    return Summary(Tries.of(tries), refuted, evidence)


def merge(one: Summary, other: Summary) -> Summary:
    """Of different objects, or of different rounds."""
    return Summary(
        one.tries + other.tries,
        _earlier(one.refuted, other.refuted),
        one.evidence | other.evidence,
        _earlier(one.failed, other.failed),
    )


def conclude(summary: Summary, name: str, question: Question, *, ops: int) -> Verdict:
    """The verdict of the model on the whole history, which has `ops` rows."""
    until = summary.until
    if summary.failed is not None and summary.failed[0] < until:
        return summary.failed[1]
    last = summary.tries.last_of_each(until)
    searched = Searched(
        objects=last.first.size,
        configurations=int(last.visited.sum()),
        found=() if summary.refuted is None else (summary.refuted[1],),
        is_open=bool((last.answer == _OPEN).any()),
    )
    verdict = verdict_on(ops, searched, summary.evidence, question.budget)
    return replace(verdict, checker=name, model=name)


class _Watched:
    """The calls of a part, with the first one of each object."""

    def __init__(self, columns: Columns, names: tuple[str, ...]) -> None:
        self._columns = columns
        self._names = names
        self.first: dict[Hashable, int] = {}
        self.now = Moment(_BEFORE_ALL, _BEFORE_ALL)
        """Where the model is. Objects are made before any of them is searched."""

    def calls(self) -> Iterator[Call]:
        for call in calls(self._columns, *self._names):
            index = self._columns.index_of(call.row)
            self.now = Moment(_BEFORE_ALL, index)
            self.first.setdefault(call.key, index)
            yield call


def _unreadable(error: HistoryError) -> Verdict:
    return Verdict(checker="history", validity=Validity.UNKNOWN, why=str(error))


def _earlier(
    one: tuple[Moment, _Dated] | None, other: tuple[Moment, _Dated] | None
) -> tuple[Moment, _Dated] | None:
    if one is None or other is None:
        return one or other
    return one if one[0] <= other[0] else other
