"""A part of a history of lists: all that is said of some of its keys.

What is said of a list decides alone who appended what, in which order, which reads disagree, and
which dependencies follow. So a part is told by the checkers' own functions as a history of its
lists is, and the parts of one history have the findings and the dependencies of the whole.

A part returns the dependencies, and the keys of the findings that are told first: only the first
few of a type are told, so only these lists have to be judged once more, all together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from heapq import nsmallest
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import OK, Columns, Elements, Ops
from checkers.findings import SHOWN
from checkers.transactions.graph import NEVER, graph_of
from checkers.transactions.list_edges import dependencies
from checkers.transactions.lists import Lists
from checkers.transactions.updates import contended

First = tuple[int, int]
"""Where a finding stands among those of its type, and its key."""
Value = tuple[bool, int]
"""Whether it is a text, and the value or the number of the text."""
_SORTS = 6
"""Of findings whose first ones are told."""
_FIRST = 2 * SHOWN
"""Dirty updates are told of so many lists, of other types there are fewer."""


@dataclass(frozen=True, slots=True)
class Said:
    """Elements of operations that have ended or that nothing answered, in any order."""

    row: Ints64
    """The row that completes the operation."""
    call: Ints64
    """The row of its invocation; -1 if there is none."""
    outcome: Ints8
    number: Ints64
    """Of the element, in the order of the history."""
    position: Ints32
    kind: Ints8
    key: Ints32
    value: Ints64
    """Or the number of its text."""
    boxed: Bools
    told: Bools

    def some(self, chosen: Ints64 | Bools) -> Said:
        return Said(*(getattr(self, each.name)[chosen] for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Links:
    """Dependencies between operations, which are named by the rows that complete them."""

    source: Ints64
    target: Ints64
    source_call: Ints64
    source_ret: Ints64
    target_call: Ints64
    target_ret: Ints64

    @classmethod
    def between(cls, source: Ints64, target: Ints64, row: Ints64, call: Ints64, ret: Ints64
                ) -> Links:  # fmt: skip
        """Of operations with these rows, by their places there. Without those that real time
        implies: the source had returned before the target was called."""
        kept = ret[source] >= call[target]
        pairs = np.unique(source[kept].astype(np.int64) * max(1, row.size) + target[kept])
        one, other = np.divmod(pairs, max(1, row.size))
        return cls(row[one], row[other], call[one], ret[one], call[other], ret[other])


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the driver has to know of a part."""

    reads: int = 0
    edges: int = 0
    inner: tuple[int, int, int] = (0, 0, 0)
    """Reads with faults of their own, in the order of `Lists.inner_faults`."""
    firsts: tuple[tuple[First, ...], ...] = ((),) * _SORTS
    """Of these three sorts of reads, of reads that disagree with their list, of lost updates and of
    dirty ones the first ones."""
    dirty: frozenset[tuple[Value, int]] = frozenset()
    """Values that were read although their append failed, and their keys."""
    disagreeing: frozenset[int] = frozenset()
    """Keys with reads that are no beginning of the list."""

    def told(self, owners: Mapping[Value, int]) -> set[int]:
        """Keys of all findings that are told, and that follow from what is said of one list.

        `owners`: of values that several lists have, the key that each was first seen with. Values
        are numbered, and those of `dirty` told, in their order, but for those that another list has
        owned before: they come after all others, by key.
        """

        def place(one: tuple[Value, int]) -> tuple[bool, int, Value]:
            value, key = one
            is_stray = owners.get(value, key) != key
            return is_stray, key if is_stray else 0, value

        firsts = (key for firsts in self.firsts for _, key in firsts)
        return {*firsts, *(key for _, key in nsmallest(SHOWN, self.dirty, key=place))}


def conclude(parts: Sequence[Summary]) -> Summary:
    """Of all parts together."""
    one, other, third = (sum(each.inner[sort] for each in parts) for sort in (0, 1, 2))
    nothing: frozenset[Any] = frozenset()
    return Summary(
        reads=sum(each.reads for each in parts),
        edges=sum(each.edges for each in parts),
        inner=(one, other, third),
        firsts=tuple(
            tuple(nsmallest(_FIRST, chain.from_iterable(each.firsts[sort] for each in parts)))
            for sort in range(_SORTS)
        ),
        dirty=nothing.union(*(each.dirty for each in parts)),
        disagreeing=nothing.union(*(each.disagreeing for each in parts)),
    )


class Part:
    """All that a history says of some keys."""

    def __init__(self, said: Said, *, realtime: bool) -> None:
        self.said = said = said.some(np.lexsort((said.number, said.row)))
        self.row, first, op = np.unique(said.row, return_index=True, return_inverse=True)
        self.call, outcome = said.call[first], said.outcome[first]
        self.ret = np.where((outcome == OK) & realtime, self.row, NEVER)
        self.keys, key = np.unique(said.key, return_inverse=True)
        value = said.value.copy()
        _, value[said.boxed] = np.unique(value[said.boxed], return_inverse=True)
        elements = Elements(
            op=op.astype(np.int32),
            position=said.position,
            kind=said.kind,
            key=key.astype(np.int32),
            offset=np.full(op.size, -1, np.int64),
            value=value,
            boxed=said.boxed,
            told=said.told,
        )
        columns = Columns(_Unnamed(self.keys), ops=_completions(outcome), elements=elements)
        self.lists = Lists(columns)

    @cached_property
    def summary(self) -> Summary:
        lists = self.lists
        found, count = lists.inner_faults
        inner = tuple(
            self._firsts(found[kind, : min(int(count[kind]), SHOWN)]) for kind in (0, 1, 2)
        )
        one, other, third = count.tolist()
        return Summary(
            reads=int(lists.runs.op.size),
            edges=int(self._graph.source.size),
            inner=(one, other, third),
            firsts=(*inner, self._firsts(lists.disagreeing[1]), *self._updates()),
            dirty=self._dirty(),
            disagreeing=frozenset(self.keys[lists.runs.key[lists.agrees == 0]].tolist()),
        )

    @cached_property
    def links(self) -> Links:
        graph = self._graph
        source, target = graph.source.astype(np.int64), graph.target.astype(np.int64)
        return Links.between(source, target, self.row, self.call, self.ret)

    @cached_property
    def longest(self) -> tuple[Ints32, Ints64]:
        """By key the operation with the longest read, which tells the order of the list."""
        longest = self.lists.longest
        read = np.flatnonzero(longest >= 0)
        return self.keys[read], self.row[self.lists.runs.op[longest[read]]]

    @cached_property
    def _graph(self) -> Any:
        return graph_of(self.call, self.ret, *dependencies(self.lists))

    def _firsts(self, runs: Ints64) -> tuple[First, ...]:
        """Reads are told in the order of the history."""
        where = self.said.number[self.lists.runs.first[runs]].tolist()
        keys = self.keys[self.lists.runs.key[runs]].tolist()
        return tuple(sorted(zip(where, keys, strict=True)))

    def _updates(self) -> tuple[tuple[First, ...], tuple[First, ...]]:
        """Lost and dirty updates are told by key."""
        lists = self.lists
        lost = contended(lists.columns, lists.runs.op, lists.runs.first, lists.seen)
        dirty = np.unique(lists.key[lists.dirty]).tolist()
        one, other = (
            tuple((int(self.keys[key]), int(self.keys[key])) for key in sorted(keys)[:_FIRST])
            for keys in ({key for key, _ in lost}, filter(lists.dirty_update, dirty))
        )
        return one, other

    def _dirty(self) -> frozenset[tuple[Value, int]]:
        numbers = np.flatnonzero(self.lists.dirty)
        at, key = self.lists.appended[numbers], self.keys[self.lists.key[numbers]]
        values = zip(self.said.boxed[at].tolist(), self.said.value[at].tolist(), strict=True)
        return frozenset(zip(values, key.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """What a part knows of its history besides columns: how many keys there are. Findings are told
    later, of all parts together."""

    keys: Any
    values: Any = ()
    timestamps: Any = None

    def op(self, index: int) -> NoReturn:
        raise NotImplementedError(index)


def _completions(outcome: Ints8) -> Ops:
    """Operations of which nothing is looked at but how they ended."""
    count = outcome.size
    return Ops(
        index=np.arange(count),
        time_ns=np.zeros(count, np.int64),
        process=np.zeros(count, np.int32),
        type=outcome,
        f=np.zeros(count, np.int32),
        names=("txn",),
        numbers=np.zeros(1, np.int64),
    )
