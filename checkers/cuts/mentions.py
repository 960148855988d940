"""The elements of one part of a history as columns, and their stretches.

A part is any number of consecutive elements of a history. Each element has the process, the
invocation and the outcome of its operation beside it, so a part can be read without the others.
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
POLL_MARKERS: Final = np.array([kinds.POLL, kinds.POLLED_NOTHING, kinds.POLLED_EMPTY], np.int8)
"""Elements of polls that are no records. No checker that judges parts needs them."""
NO_STAMP: Final = -1


@dataclass(frozen=True, slots=True)
class Mentions:
    """Columns with one entry for each element of a part, in the order of the history."""

    row: Ints64
    number: Ints64
    """Number of the element in the history."""
    kind: Ints8
    key: Ints32
    offset: Ints64
    """-1 if the operation does not report it."""
    value: Ints64
    is_int: Bools
    """Whether the element has a value, and the value is an integer."""
    process: Ints32
    call: Ints64
    outcome: Ints8
    """Outcome of the operation; 0 for an invocation whose completion has the elements."""
    stamp: Ints64
    """Timestamp of the record, or NO_STAMP."""
    is_settled: Bools
    """Sends of unknown outcome whose `offset` comes from polls (unacknowledged.py)."""
    is_void: Bools
    """Sends that failed or whose outcome is unknown, and whose records no poll returned."""

    def select(self, chosen: Bools | Ints64 | slice) -> Mentions:
        return Mentions(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @property
    def role(self) -> Ints8:
        """SEND, POLL, or 0 for all elements that are no records of an operation."""
        return np.where(self.outcome > 0, _ROLES[self.kind], 0).astype(np.int8)

    @property
    def is_confirmed(self) -> Bools:
        """Records whose offset an operation that was ok reports."""
        known: Bools = (self.role > 0) & (self.outcome == OK) & self.is_int & (self.offset >= 0)
        return known

    @property
    def is_unclear(self) -> Bools:
        """Records whose offset is unknown, or whose value is no integer. They are always kept."""
        unclear: Bools = (self.role > 0) & ~self.is_confirmed & ~self.is_settled & ~self.is_void
        return unclear

    @property
    def is_named(self) -> Bools:
        """Records with an integer value. They are kept if the value is."""
        named: Bools = (self.role > 0) & self.is_int
        return named

    @property
    def is_not_record(self) -> Bools:
        """Elements that are no records, such as answers about log ends. They are always kept."""
        other: Bools = (self.outcome > 0) & (self.role == 0) & ~np.isin(self.kind, POLL_MARKERS)
        return other


def mentions_of(columns: Columns) -> Mentions:
    """The mentions of a whole history, as one part."""
    elements = columns.elements
    begin, end = columns.spans
    speaker = np.full(columns.outcome.size, -1, np.int64)
    rows = np.flatnonzero(begin < end)
    # A completion without elements of its own refers to those of its invocation.
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
    """Records of one operation with consecutive offsets, within one log and range of offsets."""

    first: Ints64
    """Position of the first record of each stretch among the mentions that were given."""
    count: Ints64

    @classmethod
    def of(cls, located: Mentions, width: int) -> Stretches:
        """`located` are mentions that are confirmed or settled; `width` is the size of a range."""
        size = located.row.size
        starts = np.ones(size, np.bool_)
        for column in (located.row, located.role, located.key, located.offset // width):
            starts[1:] &= column[1:] == column[:-1]
        starts[1:] &= located.is_settled[1:] == located.is_settled[:-1]
        starts[1:] &= located.offset[1:] == located.offset[:-1] + 1
        # So far `starts` says which mentions continue a stretch, except for the first mention.
        starts[1:] = ~starts[1:]
        first = np.flatnonzero(starts)
        return cls(first, np.diff(np.append(first, size)))
