"""Who must have come before whom, and the smallest groups in which that cannot be.

Real time has no edges here. A cycle with real-time edges exists iff, along the other edges, some
operation is reached from one that was invoked after it had returned: then one real-time edge
closes it. So the latest call that reaches each operation is all that has to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import INFO, OK, Columns
from checkers.components import by_source, components, latest_calls
from checkers.kernels.graph import count_edges, in_order, place_edges
from checkers.kernels.rows import following

WW, WR, RW, PROCESS = 1, 2, 4, 8
NEVER = 1 << 62


Edges = tuple[Ints32, Ints32, int, Ints32, Ints32]
"""Sources, targets, their kind, and the values before and after."""


@dataclass(frozen=True)
class Graph:
    """Nodes are rows of completed operations. For each edge, what it is and which values say so."""

    nodes: int
    parts: tuple[Edges, ...]
    """With edges from an operation to itself, which all else leaves out."""
    call: Ints64
    ret: Ints64

    @cached_property
    def _kept(self) -> Bools:
        source, target = self._all(0), self._all(1)
        kept: Bools = (source != target) & (source >= 0) & (target >= 0)
        return kept

    def _all(self, column: int) -> Ints32:
        columns: list[Any] = [part[column] for part in self.parts]
        return np.concatenate(columns).astype(np.int32, copy=False)

    @cached_property
    def source(self) -> Ints32:
        return self._all(0)[self._kept]

    @cached_property
    def target(self) -> Ints32:
        return self._all(1)[self._kept]

    @cached_property
    def kind(self) -> Ints8:
        kinds = [np.full(part[0].size, part[2], np.int8) for part in self.parts]
        return np.concatenate(kinds)[self._kept]

    @cached_property
    def before(self) -> Ints32:
        """The value at the source: written for ww and wr, read for rw; -1, the initial state."""
        return self._all(3)[self._kept]

    @cached_property
    def after(self) -> Ints32:
        """The value at the target."""
        return self._all(4)[self._kept]

    @cached_property
    def by_source(self) -> tuple[Ints32, Ints32, Ints32]:
        """Where the edges of each node begin; their targets; how many lead to each node."""
        start = np.zeros(self.nodes + 1, np.int32)
        ends = [(part[0].astype(np.int32, copy=False), part[1]) for part in self.parts]
        count = sum(count_edges(source, target, start[1:]) for source, target in ends)
        np.cumsum(start, out=start)
        place, targets = start[:-1].copy(), np.empty(count, np.int32)
        waiting = np.zeros(self.nodes, np.int32)
        for source, target in ends:
            place_edges(source, target, place, targets, waiting)
        return start, targets, waiting


@dataclass(frozen=True, slots=True)
class Scope:
    """Which orders count besides that of the data."""

    process: bool = True
    realtime: bool = True


@dataclass(frozen=True, slots=True)
class Suspects:
    """Operations among which there is a cycle, in groups, each in the order of the history."""

    groups: tuple[Ints32, ...]
    realtime: bool


def graph_of(call: Ints64, ret: Ints64, *parts: Edges) -> Graph:
    """Of edges of several kinds, without those from an operation to itself."""
    return Graph(nodes=call.size, parts=parts, call=call, ret=ret)


def transaction_graph(columns: Columns, scope: Scope, *parts: Edges) -> Graph:
    """With the order of processes and of time, as far as they are asked for."""
    takes_part = (columns.outcome == OK) | (columns.outcome == INFO)
    rows = np.arange(columns.ops.index.size, dtype=np.int64)
    ended = (columns.outcome == OK) & scope.realtime
    return graph_of(
        np.where(takes_part, columns.call, -1),
        np.where(ended, rows, NEVER),
        *parts,
        *([process_edges(columns.ops.process, takes_part)] if scope.process else []),
    )


def process_edges(process: Ints32, takes_part: Bools) -> Edges:
    """From each operation to the next one of its process."""
    processes = int(process.max(initial=-1)) + 1
    source, target = np.empty((2, process.size), np.int32)
    last = np.full(max(1, processes), -1, np.int32)
    count = following(process, takes_part, last, source, target)
    nothing = np.full(count, -1, np.int32)
    return source[:count], target[:count], PROCESS, nothing, nothing


def edge_count(graph: Graph) -> int:
    """Real time, which has no edges of its own, counts for one if it orders anything."""
    ordered = graph.ret.size and graph.call.max() > graph.ret.min()
    return int(graph.by_source[1].size) + bool(ordered)


def suspects(graph: Graph) -> Suspects:
    begin, targets, waiting = graph.by_source
    ready = np.empty(waiting.size, np.int32)
    if in_order(begin, targets, waiting.copy(), graph.call.copy(), graph.ret, ready):
        return Suspects((), realtime=False)
    start, order = by_source(graph.nodes, graph.source)
    target = graph.target[order]
    count, component = components(graph.nodes, start, target)
    latest = latest_calls(component, count, start, target, graph.call)
    if not bool((latest[component] > graph.ret).any()):
        return Suspects(_groups(component, count), realtime=False)
    return Suspects(_realtime_groups(graph), realtime=True)


def _groups(component: Ints32, count: int) -> tuple[Ints32, ...]:
    sizes = np.bincount(component, minlength=count)
    members = np.flatnonzero(sizes[component] > 1).astype(np.int32)
    if not members.size:
        return ()
    order = members[np.argsort(component[members], kind="stable")]
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    return tuple(sorted(np.split(order, cuts), key=lambda group: int(group[0])))


def _realtime_groups(graph: Graph) -> tuple[Ints32, ...]:
    """With real time as edges, through a chain of moments: an operation points to the moment at
    which it returned, and the last moment before its call points to it."""
    ended = np.flatnonzero(graph.ret < NEVER).astype(np.int32)
    ended = ended[np.argsort(graph.ret[ended], kind="stable")]
    moments = graph.nodes + np.arange(ended.size, dtype=np.int32)
    before = np.searchsorted(graph.ret[ended], graph.call) - 1
    later = np.flatnonzero(before >= 0).astype(np.int32)
    source = np.concatenate([graph.source, ended, moments[:-1], moments[before[later]]])
    target = np.concatenate([graph.target, moments, moments[1:], later])
    nodes = graph.nodes + ended.size
    start, order = by_source(nodes, source.astype(np.int32))
    count, component = components(nodes, start, target[order].astype(np.int32))
    groups = (group[group < graph.nodes] for group in _groups(component, count))
    return tuple(group for group in groups if group.size > 1)
