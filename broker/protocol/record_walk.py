"""The rules for the records inside a batch, and the walk that checks them.

A record is a size and, in that many bytes: attributes, timestamp delta, offset delta, key, value
and headers. Kafka reads all of it before it stores a batch, because a consumer that meets a record
it cannot read is stuck for good. The offset deltas count from 0 without a gap: Kafka numbers
compressed records anew when they do not, and stores others as they are; here both are refused.

The walk is compiled from `_native.c` when the project is installed and a C compiler is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.protocol.record_walk_python import Problem

if TYPE_CHECKING:
    from broker.protocol._native import RecordWalk, is_plain, largest_delta

    COMPILED = True
else:
    try:
        from broker.protocol._native import RecordWalk, is_plain, largest_delta

        COMPILED = True
    except ImportError:
        from broker.protocol.record_walk_python import RecordWalk, is_plain, largest_delta

        COMPILED = False

__all__ = ["COMPILED", "RecordWalk", "describe", "is_plain", "largest_delta"]

_SENTENCES = {
    Problem.VARINT_TOO_LONG: "holds a number that is too long",
    Problem.BAD_SIZE: "says that it has fewer bytes than a record can have",
    Problem.FIELD_TOO_LONG: "has a field that does not fit in it",
    Problem.NOT_FILLED: "is shorter than it says",
    Problem.BAD_HEADER_COUNT: "counts more headers than fit in it, or fewer than none",
    Problem.NO_HEADER_NAME: "has a header without a name",
    Problem.WRONG_OFFSET: "has another offset delta than its place in the batch",
    Problem.CUT_OFF: "is cut off at the end of the batch",
}


def describe(walk: RecordWalk) -> str:
    """What is wrong with the records, for the client."""
    if walk.problem == Problem.TRAILING_BYTES:
        return f"bytes are left after the {walk.records} records that the batch counts"
    return f"record {walk.records} {_SENTENCES[Problem(walk.problem)]}"
