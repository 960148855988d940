"""What one part of a history says of records: an element by element table, and its stretches.

A part is any consecutive elements of a history, with the operation of each one beside it, so that
no part needs another one to be understood.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import OK, Columns
from harness.history import kinds

SEND: Final = 1
POLL: Final = 2
_ROLES: Final = np.zeros(128, np.int8)
_ROLES[[kinds.SEND, kinds.SENT]] = SEND
_ROLES[kinds.RECORD] = POLL
SILENT: Final = np.array([kinds.POLL, kinds.POLLED_NOTHING, kinds.POLLED_EMPTY], np.int8)
"""What polls say besides records; no checker that is asked of parts needs it."""
NO_STAMP: Final = -1


@dataclass(frozen=True, slots=True)
class Mentions:
    """By element of a part, in the order of the history."""

    row: Ints64
    number: Ints64
    """Of the element, in the order of the history."""
    kind: Ints8
    key: Ints32
    offset: Ints64
    """-1 where it is not known."""
    value: Ints64
    is_int: Bools
    """Whether the value is there, and an integer."""
    process: Ints32
    call: Ints64
    outcome: Ints8
    """Of the operation; 0 for an invocation that its completion speaks for."""
    stamp: Ints64
    """Timestamp of the record, or NO_STAMP."""
    is_settled: Bools
    """Sends of unknown outcome that `offset` is known of, from polls (unsure.py)."""
    is_void: Bools
    """Sends that failed, or of unknown outcome, whose records nobody polled."""

    def some(self, chosen: Bools | Ints64 | slice) -> Mentions:
        return Mentions(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @property
    def role(self) -> Ints8:
        """SEND, POLL or 0, of elements that speak for an operation."""
        return np.where(self.outcome > 0, _ROLES[self.kind], 0).astype(np.int8)

    @property
    def is_plain(self) -> Bools:
        """Records that an ok operation was told the offset of."""
        known: Bools = (self.role > 0) & (self.outcome == OK) & self.is_int & (self.offset >= 0)
        return known

    @property
    def is_odd(self) -> Bools:
        """Records of which something is not known, or unusual: they are always kept."""
        odd: Bools = (self.role > 0) & ~self.is_plain & ~self.is_settled & ~self.is_void
        return odd

    @property
    def is_named(self) -> Bools:
        """Records whose value is known: they are kept if the value is."""
        named: Bools = (self.role > 0) & self.is_int
        return named

    @property
    def is_other(self) -> Bools:
        """Elements that are no records: they are always kept, too."""
        other: Bools = (self.outcome > 0) & (self.role == 0) & ~np.isin(self.kind, SILENT)
        return other


def mentions_of(columns: Columns) -> Mentions:
    """Of a whole history, as one part."""
    elements = columns.elements
    begin, end = columns.spans
    speaker = np.full(columns.outcome.size, -1, np.int64)
    rows = np.flatnonzero(begin < end)
    # A completion that says nothing is spoken for by the row of its invocation.
    speaker[elements.op[begin[rows]]] = rows
    op = elements.op.astype(np.int64)
    by = speaker[op]
    outcome = np.where(by >= 0, columns.outcome[np.maximum(by, 0)], 0).astype(np.int8)
    stamps = columns.timestamps
    return Mentions(
        row=op,
        number=np.arange(op.size),
        kind=elements.kind,
        key=elements.key,
        offset=elements.offset,
        value=elements.value,
        is_int=elements.told & ~elements.boxed,
        process=columns.ops.process[op],
        call=np.where(by >= 0, columns.call[np.maximum(by, 0)], op).astype(np.int64),
        outcome=outcome,
        stamp=np.full(op.size, NO_STAMP, np.int64) if stamps is None else stamps,
        is_settled=np.zeros(op.size, np.bool_),
        is_void=np.zeros(op.size, np.bool_),
    )


@dataclass(frozen=True, slots=True)
class Stretches:
    """Neighbours of one operation in one log, side by side in it, and in one range of offsets."""

    first: Ints64
    """The number of the first mention, among those that are cut into stretches."""
    count: Ints64

    @classmethod
    def of(cls, placed: Mentions, width: int) -> Stretches:
        """`placed` has only mentions that are plain or settled; ranges are `width` offsets wide."""
        size = placed.row.size
        starts = np.ones(size, np.bool_)
        for column in (placed.row, placed.role, placed.key, placed.offset // width):
            starts[1:] &= column[1:] == column[:-1]
        starts[1:] &= placed.is_settled[1:] == placed.is_settled[:-1]
        starts[1:] &= placed.offset[1:] == placed.offset[:-1] + 1
        # Until here: what goes on. The first goes on from nothing.
        starts[1:] = ~starts[1:]
        first = np.flatnonzero(starts)
        return cls(first, np.diff(np.append(first, size)))
