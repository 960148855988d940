"""Packs the records of steps into batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from broker.coordination.step import CoordinatorRecord
from broker.protocol.records import Record, build_batch

_RECORD_OVERHEAD = 32  # more than a record's attributes, lengths and deltas take


def build_batches(
    units: list[Sequence[CoordinatorRecord]], bytes_max: int, codec: int, time_ms: int
) -> deque[memoryview]:
    """A unit is in one batch, so that all of it is read or nothing; small units share one.

    `bytes_max` is for the records of a batch, and no unit is larger.
    """
    batches: deque[memoryview] = deque()
    batch: list[Record] = []
    size = 0
    for unit in units:
        unit_size = size_of(unit)
        if batch and size + unit_size > bytes_max:
            batches.append(memoryview(build_batch(batch, codec=codec)))
            batch, size = [], 0
        for each in unit:
            batch.append(Record(len(batch), time_ms, each.key, each.value))
        size += unit_size
    batches.append(memoryview(build_batch(batch, codec=codec)))
    return batches


def size_of(unit: Sequence[CoordinatorRecord]) -> int:
    """At most so many bytes in a batch, without its header."""
    return sum(len(each.key) + len(each.value or b"") + _RECORD_OVERHEAD for each in unit)
