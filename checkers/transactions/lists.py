"""What a history of list-append says of its lists: their order, their writers, their reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import FAIL, OK, Columns
from checkers.findings import SHOWN
from checkers.kernels import lists as kernels
from checkers.numbering import numbered
from harness.history import kinds


@dataclass(frozen=True, slots=True)
class Runs:
    """Reads of ok operations."""

    op: Ints32
    first: Ints64
    size: Ints32
    key: Ints32


class Lists:
    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        elements, outcome = columns.elements, columns.outcome
        wanted: Bools = elements.told & (
            (elements.kind == kinds.APPEND) | (elements.kind == kinds.READ_ELEMENT)
        )
        numbering = numbered(elements, wanted)
        self.number, self.key = numbering.number, numbering.owner
        self.begin, self.end = columns.spans
        count = self.key.size
        self.writer = np.full(count, -1, np.int32)
        self.appended = np.full(count, -1, np.int64)
        self.final: Ints8 = np.zeros(count, np.int8)
        span = (outcome, self.begin, self.end, elements.kind)
        kernels.appenders(*span, elements.key, self.number, self.writer, self.appended, self.final)
        self.runs = self._runs(span)
        self._order()

    def _runs(self, span: tuple[Ints8, Ints64, Ints64, Ints8]) -> Runs:
        position = self.columns.elements.position
        # Room for as many as there could be: memory that is never written is never given.
        op, size = np.empty(position.size, np.int32), np.empty(position.size, np.int32)
        first = np.empty(position.size, np.int64)
        count = kernels.find_runs(*span, position, op, first, size)
        op, first, size = op[:count], first[:count], size[:count]
        return Runs(op, first, size, self.columns.elements.key[first])

    def _order(self) -> None:
        elements, runs = self.columns.elements, self.runs
        keys = len(self.columns.history.keys)
        longest = np.full(keys, -1, np.int64)
        kernels.longest_runs(runs.first, runs.size, elements.key, longest)
        self.longest = longest
        self.start = np.zeros(keys + 1, np.int64)
        np.cumsum(np.bincount(self.key[self.key >= 0], minlength=keys), out=self.start[1:])
        self.order = np.full(self.key.size, -1, np.int32)
        self.length = kernels.put_in_order(
            longest, runs.first, runs.size, self.number, self.start, self.order
        )
        self.reader = np.full(self.key.size, -1, np.int64)
        self.agrees: Ints8 = np.ones(runs.op.size, np.int8)
        self.disagreeing = kernels.disagreements(
            runs.op,
            runs.first,
            runs.size,
            elements.key,
            self.number,
            self.start,
            self.length,
            self.order,
            self.reader,
            self.agrees,
            SHOWN,
        )

    @cached_property
    def seen(self) -> Ints32:
        """The version that each run saw: the number of its last value, -1 for the initial state."""
        ends = self.runs.first + np.maximum(self.runs.size, 1) - 1
        seen: Ints32 = np.where(self.runs.size > 0, self.number[ends], np.int32(-1))
        return seen

    @cached_property
    def inner_faults(self) -> tuple[Ints64, Ints64]:
        """Runs that contradict their own operation, show its later append, or end in the midst of
        another's appends: of each sort the first few, and how many there are."""
        found, count = np.empty((3, SHOWN), np.int64), np.zeros(3, np.int64)
        elements, runs = self.columns.elements, self.runs
        kernels.inner_faults(
            runs.op,
            runs.first,
            runs.size,
            self.begin,
            self.end,
            elements.kind,
            elements.key,
            elements.position,
            self.number,
            self.writer,
            self.appended,
            self.final,
            found,
            count,
        )
        return found, count

    @cached_property
    def took_effect(self) -> Bools:
        """Of each value: its append is ok, or may have been and was seen."""
        outcome = self.columns.outcome[self.writer]
        known = (self.writer >= 0) & (outcome != FAIL)
        took: Bools = known & ((outcome == OK) | (self.reader >= 0))
        return took

    @cached_property
    def failed(self) -> Bools:
        failed: Bools = (self.writer >= 0) & (self.columns.outcome[self.writer] == FAIL)
        return failed

    @property
    def dirty(self) -> Bools:
        """Of each value: its append failed, and yet it was read."""
        dirty: Bools = self.failed & (self.reader >= 0)
        return dirty

    def dirty_update(self, key: int) -> tuple[int, int] | None:
        """A value of this list whose append failed, and one that took effect after it."""
        start = int(self.start[key])
        order = self.order[start : start + int(self.length[key])]
        outcome = self.columns.outcome[self.writer[order]]
        clean = (self.writer[order] >= 0) & (outcome == OK)
        for place in np.flatnonzero(self.failed[order]).tolist():
            after = np.flatnonzero(clean[place + 1 :])
            if after.size:
                return int(order[place]), int(order[place + 1 + int(after[0])])
        return None
