"""Packs the records of steps into batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from broker.coordination.step import CoordinatorRecord, TransactionalProducer, TransactionEnd
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.control import build_marker_batch
from broker.protocol.records import Record, build_batch

_RECORD_OVERHEAD = 32  # more than a record's attributes, lengths and deltas take


def build_batches(
    units: list[Sequence[CoordinatorRecord]], bytes_max: int, codec: int, time_ms: int
) -> deque[memoryview]:
    """A unit is in one batch, so that all of it is read or nothing; small units share one.

    `bytes_max` is for the records of a batch, and no unit is larger. Records of different
    transactions, or of one and of none, are never in one batch.
    """
    batches: deque[memoryview] = deque()
    batch: list[Record] = []
    size = 0
    producer = units[0][0].producer
    for unit in units:
        unit_size = size_of(unit)
        if batch and (size + unit_size > bytes_max or unit[0].producer != producer):
            batches.append(_build(batch, codec, producer))
            batch, size = [], 0
        producer = unit[0].producer
        for each in unit:
            batch.append(Record(len(batch), time_ms, each.key, each.value))
        size += unit_size
    batches.append(_build(batch, codec, producer))
    return batches


def _build(records: list[Record], codec: int, producer: TransactionalProducer | None) -> memoryview:
    if producer is None:
        return memoryview(build_batch(records, codec=codec))
    return memoryview(
        build_batch(
            records,
            codec=codec,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            attributes=TRANSACTIONAL,
        )
    )


def build_marker(end: TransactionEnd, time_ms: int) -> memoryview:
    producer_id, epoch = end.producer
    return memoryview(
        build_marker_batch(
            end.marker, producer_id=producer_id, producer_epoch=epoch, time_ms=time_ms
        )
    )


def size_of(unit: Sequence[CoordinatorRecord]) -> int:
    """At most so many bytes in a batch, without its header."""
    return sum(len(each.key) + len(each.value or b"") + _RECORD_OVERHEAD for each in unit)
