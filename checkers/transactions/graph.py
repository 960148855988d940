"""Who must have come before whom, and the smallest groups in which that cannot be.

Real time has no edges here. A cycle with real-time edges exists iff, along the other edges, some
operation is reached from one that was invoked after it had returned: then one real-time edge
closes it. So the latest call that reaches each operation is all that has to be known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import INFO, OK, Columns
from checkers.kernels.graph import by_source, components, latest_calls
from checkers.kernels.rows import following

WW, WR, RW, PROCESS = 1, 2, 4, 8
NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes are rows of completed operations. For each edge, what it is and which values say so."""

    nodes: int
    source: Ints32
    target: Ints32
    kind: Ints8
    before: Ints32
    """The value at the source: written for ww and wr, read for rw; -1, the initial state."""
    after: Ints32
    """The value at the target."""
    call: Ints64
    ret: Ints64


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


Edges = tuple[Ints32, Ints32, int, Ints32, Ints32]
"""Sources, targets, their kind, and the values before and after."""


def graph_of(call: Ints64, ret: Ints64, *parts: Edges) -> Graph:
    """Of edges of several kinds, without those from an operation to itself."""
    source = np.concatenate([part[0] for part in parts]).astype(np.int32, copy=False)
    target = np.concatenate([part[1] for part in parts]).astype(np.int32, copy=False)
    kind = np.concatenate([np.full(part[0].size, part[2], np.int8) for part in parts])
    before = np.concatenate([part[3] for part in parts]).astype(np.int32, copy=False)
    after = np.concatenate([part[4] for part in parts]).astype(np.int32, copy=False)
    keep = (source != target) & (source >= 0) & (target >= 0)
    return Graph(
        nodes=call.size,
        source=source[keep],
        target=target[keep],
        kind=kind[keep],
        before=before[keep],
        after=after[keep],
        call=call,
        ret=ret,
    )


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
    source, target = following(process, takes_part, max(1, processes))
    nothing = np.full(source.size, -1, np.int32)
    return source, target, PROCESS, nothing, nothing


def edge_count(graph: Graph) -> int:
    """Real time, which has no edges of its own, counts for one if it orders anything."""
    ordered = graph.ret.size and graph.call.max() > graph.ret.min()
    return int(graph.source.size) + bool(ordered)


def suspects(graph: Graph) -> Suspects:
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
