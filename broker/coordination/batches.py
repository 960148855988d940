"""Packs the records of steps into batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from broker.coordination.step import CoordinatorRecord, ProducerIdAndEpoch, TransactionEnd
from broker.log.validation import Checked, CheckedBatch
from broker.protocol.batch import TRANSACTIONAL, read_header
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.records import Record, build_batch

_RECORD_OVERHEAD = 32  # more than a record's attributes, lengths and deltas take


Unit = tuple[Sequence[CoordinatorRecord], int]
"""Records that are in one batch, so that all of them are read or none; and their `size_of`."""


def build_batches(units: list[Unit], bytes_max: int, codec: int, time_ms: int) -> deque[Checked]:
    """Batches for `Partition.append_own`. Small units share one.

    `bytes_max` is for the records of a batch, and no unit is larger. Records of different
    transactions, or of one and of none, are never in one batch.
    """
    batches: deque[Checked] = deque()
    batch: list[Record] = []
    size = 0
    producer: ProducerIdAndEpoch | None = None
    for unit, unit_size in units:
        if batch and (size + unit_size > bytes_max or unit[0].producer != producer):
            batches.append(_built(batch, codec, producer))
            batch, size = [], 0
        producer = unit[0].producer
        for key, value, _ in unit:
            batch.append(Record(len(batch), time_ms, key, value))
        size += unit_size
    batches.append(_built(batch, codec, producer))
    return batches


def _built(batch: list[Record], codec: int, producer: ProducerIdAndEpoch | None) -> Checked:
    if producer is None:
        return _checked(build_batch(batch, codec=codec), None)
    data = build_batch(
        batch,
        codec=codec,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        attributes=TRANSACTIONAL,
    )
    return _checked(data, None)


def build_marker(end: TransactionEnd, time_ms: int) -> Checked:
    producer_id, epoch = end.producer
    data = build_marker_batch(
        end.marker, producer_id=producer_id, producer_epoch=epoch, time_ms=time_ms
    )
    return _checked(data, end.marker)


def _checked(data: bytearray, marker: EndTransactionMarker | None) -> Checked:
    """It needs no other check: no client has touched it."""
    batch = memoryview(data)
    return batch, [CheckedBatch(read_header(batch), 0, marker)]


def size_of(unit: Sequence[CoordinatorRecord]) -> int:
    """At most so many bytes in a batch, without its header."""
    return sum(len(each.key) + len(each.value or b"") + _RECORD_OVERHEAD for each in unit)
