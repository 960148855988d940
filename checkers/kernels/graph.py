"""Graphs of operations as arrays: edges by source, strongly connected components, latest calls."""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.kernels import array_kernel, kernel


@array_kernel
def by_source(nodes: int, source: Ints32) -> tuple[Ints64, Ints64]:
    """Where each node's edges begin, and all edges in that order; those of a node as they were."""
    start = np.zeros(nodes + 1, np.int64)
    for edge in range(source.size):
        start[source[edge] + 1] += 1
    for node in range(nodes):
        start[node + 1] += start[node]
    place = start[:-1].copy()
    order = np.empty(source.size, np.int64)
    for edge in range(source.size):
        order[place[source[edge]]] = edge
        place[source[edge]] += 1
    return start, order


@kernel
def count_edges(source: Ints32, target: Ints32, degree: Ints32) -> int:
    """How many there are between two operations; for each operation how many leave it."""
    count = 0
    for edge in range(source.size):
        if source[edge] >= 0 and target[edge] >= 0 and source[edge] != target[edge]:
            degree[source[edge]] += 1
            count += 1
    return count


@kernel
def place_edges(
    source: Ints32, target: Ints32, place: Ints32, targets: Ints32, waiting: Ints32
) -> None:
    """The same edges by source, the next of each at `place`; and how many each target waits for."""
    for edge in range(source.size):
        if source[edge] >= 0 and target[edge] >= 0 and source[edge] != target[edge]:
            targets[place[source[edge]]] = target[edge]
            place[source[edge]] += 1
            waiting[target[edge]] += 1


@array_kernel
def in_order(start: Ints32, targets: Ints32, waiting: Ints32, latest: Ints64, ret: Ints64) -> bool:
    """Whether operations can be put in order, and none has to come after one that was invoked only
    when it had returned. `latest` begins as their calls, and becomes the latest call of all that
    come before. Most edges lead to later rows, so rows are gone through as they come; `waiting` is
    below zero for those that are done."""
    nodes = waiting.size
    ready = np.empty(nodes, np.int32)
    done = 0
    for row in range(nodes):
        if waiting[row] != 0:
            continue
        ready[0], top = row, 1
        while top:
            top -= 1
            node = ready[top]
            waiting[node] = -1
            done += 1
            if latest[node] > ret[node]:
                return False
            for edge in range(start[node], start[node + 1]):
                other = targets[edge]
                latest[other] = max(latest[other], latest[node])
                waiting[other] -= 1
                if waiting[other] == 0 and other < row:
                    ready[top] = other
                    top += 1
    return done == nodes


@array_kernel
def components(nodes: int, start: Ints64, target: Ints32) -> tuple[int, Ints32]:
    """Tarjan's, without recursion. Components are numbered sinks first: an edge from one to another
    goes to a lower number."""
    count, clock, depth, top = 0, 0, 0, 0
    index = np.full(nodes, -1, np.int32)
    low = np.empty(nodes, np.int32)
    component = np.full(nodes, -1, np.int32)
    stack = np.empty(nodes, np.int32)
    path = np.empty(nodes, np.int32)
    at = start[:-1].copy()
    for root in range(nodes):
        if index[root] >= 0:
            continue
        path[0], depth = root, 1
        index[root] = low[root] = clock
        clock += 1
        stack[top] = root
        top += 1
        while depth:
            node = path[depth - 1]
            if at[node] < start[node + 1]:
                other = target[at[node]]
                at[node] += 1
                if index[other] < 0:
                    index[other] = low[other] = clock
                    clock += 1
                    stack[top] = other
                    top += 1
                    path[depth] = other
                    depth += 1
                elif component[other] < 0:
                    low[node] = min(low[node], index[other])
                continue
            depth -= 1
            if depth:
                above = path[depth - 1]
                low[above] = min(low[above], low[node])
            if low[node] == index[node]:
                while True:
                    top -= 1
                    component[stack[top]] = count
                    if stack[top] == node:
                        break
                count += 1
    return count, component


@array_kernel
def latest_calls(
    component: Ints32, count: int, start: Ints64, target: Ints32, call: Ints64
) -> Ints64:
    """For each component the latest call of all nodes that reach it, itself included."""
    first, members = by_source(count, component)
    latest = np.full(count, -1, np.int64)
    for mine in range(count - 1, -1, -1):
        for place in range(first[mine], first[mine + 1]):
            latest[mine] = max(latest[mine], call[members[place]])
        for place in range(first[mine], first[mine + 1]):
            node = members[place]
            for edge in range(start[node], start[node + 1]):
                other = component[target[edge]]
                latest[other] = max(latest[other], latest[mine])
    return latest
