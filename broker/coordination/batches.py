"""Packs the records of steps into batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from broker.coordination.step import CoordinatorRecord
from broker.log.validation import Checked, CheckedBatch
from broker.protocol.batch import read_header
from broker.protocol.records import Record, build_batch

_RECORD_OVERHEAD = 32  # more than a record's attributes, lengths and deltas take


Unit = tuple[Sequence[CoordinatorRecord], int]
"""Records that are in one batch, so that all of them are read or none; and their `size_of`."""


def build_batches(units: list[Unit], bytes_max: int, codec: int, time_ms: int) -> deque[Checked]:
    """Batches for `Partition.append_own`. Small units share one.

    `bytes_max` is for the records of a batch, and no unit is larger.
    """
    batches: deque[Checked] = deque()
    batch: list[Record] = []
    size = 0
    for unit, unit_size in units:
        if batch and size + unit_size > bytes_max:
            batches.append(_built(batch, codec))
            batch, size = [], 0
        for key, value in unit:
            batch.append(Record(len(batch), time_ms, key, value))
        size += unit_size
    batches.append(_built(batch, codec))
    return batches


def _built(batch: list[Record], codec: int) -> Checked:
    """It needs no other check: no client has touched it."""
    data = memoryview(build_batch(batch, codec=codec))
    return data, [CheckedBatch(read_header(data), 0, None)]


def size_of(unit: Sequence[CoordinatorRecord]) -> int:
    """At most so many bytes in a batch, without its header."""
    size = 0
    for key, value in unit:
        size += len(key) + _RECORD_OVERHEAD
        if value is not None:
            size += len(value)
    return size
