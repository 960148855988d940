"""Stretches of time in which a contradiction between operations must lie.

Give each operation a moment between its call and its return. Then real time always leads to a later
moment, and a cycle of dependencies and real time needs a dependency that leads back, or nowhere,
to come home. Of such a dependency take the stretch between the moments of its two ends: each point
between the first and the last moment of the cycle lies in such a stretch, because there the cycle
has to come back. So a cycle lies in one window, a union of stretches that touch each other, and the
operations of one window are judged without the others.

This holds for any moments; good ones make small windows. An operation that depends on another is
best placed no earlier than that one, so a dependency leads back only where time does not
allow for it: at a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.transactions.graph import WW, graph_of, suspects


@dataclass(frozen=True, slots=True)
class Windows:
    """Stretches of time that do not touch each other, in order, both ends included."""

    start: Ints64
    end: Ints64

    @classmethod
    def of(cls, low: Ints64, high: Ints64) -> Windows:
        order = np.argsort(low, kind="stable")
        low, high = low[order], np.maximum.accumulate(high[order])
        begins = np.ones(low.size, np.bool_)
        begins[1:] = low[1:] > high[:-1]
        ends = np.append(begins[1:], True)[: low.size]
        return cls(low[begins], high[ends])

    @classmethod
    def merged(cls, parts: Iterable[Windows]) -> Windows:
        empty = np.empty(0, np.int64)
        parts = list(parts)
        return cls.of(
            np.concatenate([empty, *(each.start for each in parts)]),
            np.concatenate([empty, *(each.end for each in parts)]),
        )

    def place(self, at: Ints64) -> Ints64:
        """The window of each moment, by its start; a moment of its own is its own window."""
        window = np.searchsorted(self.start, at, side="right") - 1
        held = self._holds(at, window)
        placed = at.copy()
        placed[held] = self.start[window[held]]
        return placed

    def holds(self, at: Ints64) -> Bools:
        return self._holds(at, np.searchsorted(self.start, at, side="right") - 1)

    def _holds(self, at: Ints64, window: Ints64) -> Bools:
        held: Bools = window >= 0
        held[held] = at[held] <= self.end[window[held]]
        return held


@dataclass(frozen=True, slots=True)
class Operations:
    row: Ints64
    """The row that completes each."""
    call: Ints64
    ret: Ints64

    def once(self) -> Operations:
        row, first = np.unique(self.row, return_index=True)
        return Operations(row, self.call[first], self.ret[first])


def cyclic_groups(operations: Operations, source: Ints64, target: Ints64) -> list[Ints64]:
    """Groups of operations among which there is a cycle, of some windows together. `operations` may
    have one twice; `source` and `target` are rows of theirs."""
    known = operations.once()
    ends = [np.searchsorted(known.row, each).astype(np.int32) for each in (source, target)]
    # Of what kind a dependency is, and of which values, is looked at when the cycle is told.
    nothing = np.full(ends[0].size, -1, np.int32)
    graph = graph_of(known.call, known.ret, (ends[0], ends[1], WW, nothing, nothing))
    return [known.row[group] for group in suspects(graph).groups]
