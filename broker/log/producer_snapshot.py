"""The `.snapshot` file: all producers of a partition as they were at one offset.

Kafka's version 1 with a difference that Kafka does not mind: a producer has a row for each batch
of its window, oldest first. Kafka reads the last row only; we get the whole window back.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from broker.log.producer_state import WINDOW, Producer, WrittenBatch
from broker.protocol.checksum import crc32c

VERSION = 1
_HEAD = Struct(">hIi")  # version, CRC of all that follows it, number of rows
_ROW = Struct(">qhiqiqiq")
_CRC_COVERS_FROM = 6


class CorruptSnapshotError(Exception):
    """The snapshot is rebuilt from an older one and the log."""


def encode(producers: Iterable[Producer]) -> bytes:
    rows: list[bytes] = []
    for producer in sorted(producers):
        first_offset = -1 if producer.txn_first_offset is None else producer.txn_first_offset
        nothing_written = WrittenBatch(-1, -1, 0, producer.last_timestamp)
        for batch in producer.window or (nothing_written,):
            rows.append(
                _ROW.pack(
                    producer.producer_id,
                    producer.epoch,
                    batch.last_sequence,
                    batch.last_offset,
                    batch.offset_delta,
                    batch.timestamp,
                    producer.coordinator_epoch,
                    first_offset,
                )
            )
    content = bytearray(_HEAD.pack(VERSION, 0, len(rows)) + b"".join(rows))
    crc = crc32c(memoryview(content)[_CRC_COVERS_FROM:])
    _HEAD.pack_into(content, 0, VERSION, crc, len(rows))
    return bytes(content)


def decode(content: bytes, seen_ms: int) -> list[Producer]:
    """Silence is counted from now: how long the broker was down says nothing about a producer."""
    if len(content) < _HEAD.size:
        raise CorruptSnapshotError(f"{len(content)} bytes are too short")
    version, crc, count = _HEAD.unpack_from(content)
    if version != VERSION:
        raise CorruptSnapshotError(f"version {version} is unknown")
    if crc != crc32c(memoryview(content)[_CRC_COVERS_FROM:]):
        raise CorruptSnapshotError("the CRC does not match")
    if len(content) != _HEAD.size + count * _ROW.size:
        raise CorruptSnapshotError(f"{len(content)} bytes do not hold {count} rows")
    producers: dict[int, Producer] = {}
    for row in _ROW.iter_unpack(content[_HEAD.size :]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator, txn_first = row
        earlier = producers.get(producer_id)
        window = earlier.window if earlier else ()
        if offset >= 0:
            window = (*window[1 - WINDOW :], WrittenBatch(sequence, offset, delta, timestamp))
        producers[producer_id] = Producer(
            producer_id,
            epoch,
            window,
            coordinator,
            timestamp,
            None if txn_first < 0 else txn_first,
            seen_ms,
        )
    return list(producers.values())
