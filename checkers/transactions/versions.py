"""cyclic-versions: a register that, by the order that was promised, goes back to what it was.

Who promises that a session, or everybody, sees a register's versions in one order promises that a
transaction never meets a version older than one that was left before it. A transaction *meets* what
it reads first, or else writes last; it *leaves* what it writes last, or else read first. So each
order of transactions orders versions, and these may go round in a circle.

Every register is laid out as a chain of moments, in linear space: a version leads to the moment at
which somebody left it, a moment to the next one, and to whatever is met after it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.columns import OK, Columns
from checkers.components import by_source, components
from checkers.findings import SHOWN, Finding
from checkers.transactions.explain import ValueOf

PROCESS, REALTIME = "sequential-keys", "linearizable-keys"
_BUDGET = 200_000
"""Steps for one circle: beyond it the shortest one is not looked for any more."""


@dataclass(frozen=True, slots=True)
class Touches:
    """One for each register that a transaction met; -1 is the initial state, which orders nothing
    here: it is the first by definition, and whoever meets it late is in a cycle of its own."""

    op: Ints32
    key: Ints32
    met: Ints32
    left: Ints32


@dataclass(frozen=True, slots=True)
class _Order:
    """Nodes are versions, then moments; an edge from a version or to one belongs to a touch."""

    source: Ints32
    target: Ints32
    touch: Ints32
    nodes: int


Met = tuple[Ints32, Ints32, Ints32]
"""Operations, their keys, and the versions that they read first or wrote last there."""


def touches_of(reads: Met, writes: Met) -> Touches:
    op, key, number = (np.concatenate(pair) for pair in zip(reads, writes, strict=True))
    is_write = np.arange(op.size) >= reads[0].size
    order = np.lexsort((is_write, key, op))
    op, key, number = op[order], key[order], number[order]
    begins = np.ones(op.size, np.bool_)
    begins[1:] = (op[1:] != op[:-1]) | (key[1:] != key[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], op.size) - 1 if op.size else first
    return Touches(op[first], key[first], number[first], number[last])


def cyclic_versions(
    columns: Columns, touches: Touches, versions: int, value_of: ValueOf, orders: list[str]
) -> tuple[list[Finding], set[str]]:
    """And by which orders they were found. A register is told of once, by the weakest of them."""
    found: list[Finding] = []
    by: set[str] = set()
    seen: set[Any] = set()
    for name in orders:
        laid = (_in_processes if name == PROCESS else _in_time)(columns, touches, versions)
        for members, inner in _circles(laid, versions):
            key = value_of(int(members[0]))[0]
            if key in seen:
                continue
            circle = _shortest(inner, members, versions)
            found.append(_told(columns, touches, members, circle, value_of, name))
            by.add(name)
        seen |= {finding.witness["key"] for finding in found}
    return found[:SHOWN], by


def _laid_out(
    touches: Touches, versions: int, chain: Ints64, group: Ints64, before: Ints64, after: Ints64
) -> _Order:
    """`chain`: touches that are moments, in their order; `group`: moments of equal ones are linked;
    `after`: touches, each after the moment in `before`."""
    moment = versions + np.arange(chain.size)
    leaves = np.flatnonzero(touches.left[chain] >= 0)
    linked = np.flatnonzero(group[1:] == group[:-1])
    meets = np.flatnonzero(touches.met[after] >= 0)
    parts = (
        (touches.left[chain[leaves]], moment[leaves], chain[leaves]),
        (moment[linked], moment[linked] + 1, np.full(linked.size, -1)),
        (versions + before[meets], touches.met[after[meets]], after[meets]),
    )
    source, target, touch = (
        np.concatenate([part[at] for part in parts]).astype(np.int32) for at in range(3)
    )
    return _Order(source, target, touch, versions + chain.size)


def _in_processes(columns: Columns, touches: Touches, versions: int) -> _Order:
    process = columns.ops.process[touches.op].astype(np.int64)
    group = process * (int(touches.key.max(initial=0)) + 1) + touches.key
    chain = np.lexsort((touches.op, group))
    group = group[chain]
    linked = np.flatnonzero(group[1:] == group[:-1])
    return _laid_out(touches, versions, chain, group, linked, chain[linked + 1])


def _in_time(columns: Columns, touches: Touches, versions: int) -> _Order:
    rows = columns.ops.index.size + 1
    key = touches.key.astype(np.int64)
    ended = np.flatnonzero(columns.outcome[touches.op] == OK)
    chain = ended[np.lexsort((touches.op[ended], key[ended]))]
    moments = key[chain] * rows + touches.op[chain]
    asked = key * rows + columns.call[touches.op]
    before = np.searchsorted(moments, asked) - 1
    same = (before >= 0) & (columns.call[touches.op] >= 0)
    same[same] = key[chain[before[same]]] == key[same]
    after = np.flatnonzero(same)
    return _laid_out(touches, versions, chain, key[chain], before[after], after)


def _circles(laid: _Order, versions: int) -> list[tuple[Ints64, _Order]]:
    """Versions that are before one another, and the edges among them."""
    start, order = by_source(laid.nodes, laid.source)
    count, component = components(laid.nodes, start, laid.target[order])
    sizes = np.bincount(component[:versions], minlength=count)
    members = np.flatnonzero(sizes[component[:versions]] > 1)
    _, firsts = np.unique(component[members], return_index=True)
    circles = []
    for first in sorted(firsts.tolist())[:SHOWN]:
        mine = component == component[members[first]]
        edges = np.flatnonzero(mine[laid.source] & mine[laid.target])
        inner = _Order(laid.source[edges], laid.target[edges], laid.touch[edges], laid.nodes)
        circles.append((np.flatnonzero(mine[:versions]), inner))
    return circles


def _told(
    columns: Columns,
    touches: Touches,
    members: Ints64,
    circle: tuple[list[tuple[int, int]], bool],
    value_of: ValueOf,
    order: str,
) -> Finding:
    first = min(range(len(circle[0])), key=lambda at: touches.op[circle[0][at][0]])
    steps, reasons = [], []
    for leaving, meeting in circle[0][first:] + circle[0][:first]:
        before = value_of(int(touches.left[leaving]))[1]
        after = value_of(int(touches.met[meeting]))[1]
        one, other = (columns.index_of(int(touches.op[touch])) for touch in (leaving, meeting))
        steps.append({"value": before, "value'": after, "ops": [one, other]})
        reasons.append(
            f"{before!r} is before {after!r}, because op {one} left the one and op {other}, later, "
            "met the other"
        )
    key = value_of(int(members[0]))[0]
    when = "by the order of processes" if order == PROCESS else "by the order of time"
    return Finding(
        type="cyclic-versions",
        ops=tuple(sorted({op for step in steps for op in step["ops"]})),
        because=f"of the versions of {key}, {when}, {'; and '.join(reasons)}: a contradiction",
        witness={
            "key": key,
            "versions": [value_of(number)[1] for number in members[:SHOWN].tolist()],
            "sources": ["initial-state", order],
            "steps": steps,
        }
        | ({} if circle[1] else {"minimal": False}),
    )


def _shortest(inner: _Order, members: Ints64, versions: int) -> tuple[list[tuple[int, int]], bool]:
    """A circle of the fewest versions, as pairs of a touch that left one and a touch that met the
    next; and whether it is known that there are no fewer."""
    edges: dict[int, list[tuple[int, int]]] = {}
    for source, target, touch in zip(
        inner.source.tolist(), inner.target.tolist(), inner.touch.tolist(), strict=True
    ):
        edges.setdefault(source, []).append((target, touch))
    best: list[tuple[int, int]] = []
    left = _BUDGET
    for start in members.tolist():
        circle, steps = _circle_from(start, edges, versions)
        left -= steps
        if circle and (not best or len(circle) < len(best)):
            best = circle
        if len(best) == 2 or (left < 0 and best):
            break
    return best, len(best) == 2 or left >= 0


Place = tuple[int, bool]
"""A node, and whether another version than the first was passed on the way: a moment that the first
version leads to by itself closes no circle."""


def _circle_from(
    start: int, edges: dict[int, list[tuple[int, int]]], versions: int
) -> tuple[list[tuple[int, int]], int]:
    """The shortest, if there is one; and how many steps it took. Only steps from a version count,
    so those from a moment come first."""
    begun = (start, False)
    came: dict[Place, tuple[Place, int]] = {}
    length = {begun: 0}
    queue = deque([begun])
    steps = 0
    while queue:
        here = queue.popleft()
        node, passed = here
        away = length[here] + (node < versions)
        for target, touch in edges.get(node, ()):
            steps += 1
            if target == start:
                if passed:
                    return _walked(begun, here, touch, came), steps
                continue
            there = (target, passed or target < versions)
            if there not in length or away < length[there]:
                length[there], came[there] = away, (here, touch)
                if node < versions:
                    queue.append(there)
                else:
                    queue.appendleft(there)
    return [], steps


def _walked(
    begun: Place, here: Place, touch: int, came: dict[Place, tuple[Place, int]]
) -> list[tuple[int, int]]:
    walked = [touch]
    while here != begun:
        here, touch = came[here]
        if touch >= 0:
            walked.append(touch)
    walked.reverse()
    return list(zip(walked[::2], walked[1::2], strict=True))
