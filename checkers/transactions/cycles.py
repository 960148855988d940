"""Cycles among suspects, each as short as can be, named as Elle names them.

From each operation all walks are followed, breadth first, with what matters of a walk as state:
whether it used wr and process edges, how many rw edges, whether two of those were adjacent. The
walk that first comes back in a given state is a shortest cycle of its type through there. A type
that another one found in the same group implies is not told again. Nor is a cycle that needs time
twice: it can be cut short to one that needs it once, and has some of its other edges.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from checkers.arrays import Ints32
from checkers.transactions.graph import PROCESS, RW, WR, Graph
from checkers.transactions.lattice import implied_by

_BUDGET = 1_000_000
"""Steps for one group: beyond it cycles may not be the shortest, and rare types may be missed."""

REALTIME = 16
_WR, _PROCESS, _LAST_RW, _FIRST_RW, _ADJACENT = 1, 2, 4, 8, 16
_ONE_RW, _TWO_RW = 32, 64

Step = tuple[int, int]
"""An edge of the graph, or (-1, target) for real time, with the node it leads to."""


@dataclass(frozen=True, slots=True)
class Cycle:
    type: str
    steps: tuple[Step, ...]
    start: int
    minimal: bool


class Group:
    """The edges among one group of suspects, by source."""

    def __init__(self, graph: Graph, members: Ints32) -> None:
        self.graph = graph
        self.members = [int(node) for node in members]
        inside = np.zeros(graph.nodes, np.bool_)
        inside[members] = True
        edges = np.flatnonzero(inside[graph.source] & inside[graph.target])
        self.edges: dict[int, list[tuple[int, int, int]]] = {node: [] for node in self.members}
        order = np.lexsort((graph.kind[edges], graph.target[edges], graph.source[edges]))
        seen = set()
        for edge in edges[order].tolist():
            source, target = int(graph.source[edge]), int(graph.target[edge])
            kind = int(graph.kind[edge])
            if (source, target, kind) not in seen:
                seen.add((source, target, kind))
                self.edges[source].append((target, kind, edge))
        self.steps = 0

    def cycles(self) -> list[Cycle]:
        """One of each type that no other found type implies."""
        best: dict[str, Cycle] = {}
        for start in self.members:
            self._from(start, best)
            if self.steps > _BUDGET:
                break
        minimal = self.steps <= _BUDGET
        redundant = {other for type_ in best for other in implied_by(type_) if other != type_}
        return [
            Cycle(type_, cycle.steps, cycle.start, minimal)
            for type_, cycle in sorted(best.items())
            if type_ not in redundant
        ]

    def _from(self, start: int, best: dict[str, Cycle]) -> None:
        call, ret = int(self.graph.call[start]), self.graph.ret
        begun = (start, 0)
        came: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
        length = {begun: 0}
        queue = deque([begun])
        while queue and self.steps <= _BUDGET:
            here = queue.popleft()
            node, state = here
            if length[here] and ret[node] < call:
                self._close(begun, came, here, -1, _type(state, realtime=True), best)
            for target, kind, edge in self.edges[node]:
                self.steps += 1
                after = _after(state, kind, first=not length[here])
                if target == start:
                    type_ = _type(after, realtime=False)
                    self._close(begun, came, here, edge, type_, best)
                elif (target, after) not in length:
                    length[target, after] = length[here] + 1
                    came[target, after] = (here, edge)
                    queue.append((target, after))

    def _close(
        self,
        begun: tuple[int, int],
        came: dict[tuple[int, int], tuple[tuple[int, int], int]],
        here: tuple[int, int],
        edge: int,
        type_: str,
        best: dict[str, Cycle],
    ) -> None:
        steps: list[Step] = [(edge, begun[0])]
        while here != begun:
            before, edge = came[here]
            steps.append((edge, here[0]))
            here = before
        if type_ not in best or len(steps) < len(best[type_].steps):
            best[type_] = Cycle(type_, tuple(reversed(steps)), begun[0], True)


def _after(state: int, kind: int, *, first: bool) -> int:
    if kind == RW:
        if state & _LAST_RW:
            state |= _ADJACENT
        state |= _TWO_RW if state & _ONE_RW else _ONE_RW
        return state | _LAST_RW | (_FIRST_RW if first else 0)
    state &= ~_LAST_RW
    if kind == WR:
        return state | _WR
    return state | _PROCESS if kind == PROCESS else state


def _type(state: int, *, realtime: bool) -> str:
    around = state & _LAST_RW and state & _FIRST_RW and state & _TWO_RW and not realtime
    if not state & _ONE_RW:
        base = "G1c" if state & _WR else "G0"
    elif not state & _TWO_RW:
        base = "G-single-item"
    else:
        base = "G2-item" if state & _ADJACENT or around else "G-nonadjacent-item"
    return base + ("-realtime" if realtime else "-process" if state & _PROCESS else "")
