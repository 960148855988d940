"""Graphs of operations as arrays: edges by source, strongly connected components, latest calls."""

from __future__ import annotations

from checkers.arrays import Ints32, Ints64
from checkers.kernels import kernel


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


@kernel
def in_order(
    start: Ints32, targets: Ints32, waiting: Ints32, latest: Ints64, ret: Ints64, ready: Ints32
) -> bool:
    """Whether operations can be put in order, and none has to come after one that was invoked only
    when it had returned. `latest` begins as their calls, and becomes the latest call of all that
    come before. Most edges lead to later rows, so rows are gone through as they come; `waiting` is
    below zero for those that are done, `ready` as large."""
    nodes = waiting.size
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


@kernel
def components(
    start: Ints64,
    target: Ints32,
    at: Ints64,
    index: Ints32,
    low: Ints32,
    stack: Ints32,
    path: Ints32,
    component: Ints32,
) -> int:
    """Tarjan's, without recursion. Components are numbered sinks first: an edge from one to another
    goes to a lower number. Returns how many. `at` begins as `start`, `index` and `component` as
    -1."""
    count, clock, depth, top = 0, 0, 0, 0
    for root in range(component.size):
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
    return count


@kernel
def latest_calls(
    component: Ints32,
    first: Ints64,
    members: Ints64,
    start: Ints64,
    target: Ints32,
    call: Ints64,
    latest: Ints64,
) -> None:
    """For each component the latest call of all nodes that reach it, itself included. `members`
    are the nodes by component, where each begins being `first`."""
    for mine in range(latest.size - 1, -1, -1):
        for place in range(first[mine], first[mine + 1]):
            latest[mine] = max(latest[mine], call[members[place]])
        for place in range(first[mine], first[mine + 1]):
            node = members[place]
            for edge in range(start[node], start[node + 1]):
                other = component[target[edge]]
                latest[other] = max(latest[other], latest[mine])
