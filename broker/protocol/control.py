"""Control records: the markers that end a transaction inside a partition."""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from broker.protocol.batch import CONTROL, TRANSACTIONAL, CorruptBatchError
from broker.protocol.records import Record, build_batch

ABORT = 0
COMMIT = 1

_KEY = Struct(">hh")
_VALUE = Struct(">hi")


class EndTransactionMarker(NamedTuple):
    committed: bool
    coordinator_epoch: int


def build_marker_batch(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    time_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    key = _KEY.pack(0, COMMIT if marker.committed else ABORT)
    value = _VALUE.pack(0, marker.coordinator_epoch)
    return build_batch(
        [Record(base_offset, time_ms, key, value)],
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        attributes=CONTROL | TRANSACTIONAL,
    )


def read_marker(record: Record) -> EndTransactionMarker | None:
    """None for a control record of another kind, which has nothing to do with transactions."""
    try:
        _, kind = _KEY.unpack_from(record.key or b"")
        if kind not in (ABORT, COMMIT):
            return None
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except error:
        raise CorruptBatchError("a control record is too short") from None
    return EndTransactionMarker(kind == COMMIT, coordinator_epoch)
