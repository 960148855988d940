"""Produce and Fetch frames prepared by hand, so that a load generator costs next to nothing.

Produce v7 and Fetch v11 are the last versions of a fixed layout, and every broker serves them.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence

from broker.protocol.compression import Codec
from broker.protocol.records import Record, build_batch

CLIENT_ID = b"bench"
PRODUCE, FETCH = 0, 1
_HEADER = struct.Struct(f">hhih{len(CLIENT_ID)}s")
# Index, error, high watermark, last stable offset, log start, aborted, replica, size of records.
_FETCH_PARTITION = struct.Struct(">ihqqqiii")
_BATCH_TOP = struct.Struct(">qi")
_LAST_OFFSET_DELTA = 23


def batch(values: Sequence[bytes], codec: str = "none") -> bytes:
    now_ms = int(time.time() * 1000)
    records = (Record(number, now_ms, None, value) for number, value in enumerate(values))
    return bytes(build_batch(records, codec=Codec[codec.upper()]))


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    header = _HEADER.pack(api_key, version, 1, len(CLIENT_ID), CLIENT_ID)
    return struct.pack(">i", len(header) + len(body)) + header + body


def _string(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def produce_request(topic: str, partition: int, records: bytes, acks: int = 1) -> bytes:
    body = struct.pack(">hhi", -1, acks, 30_000)
    body += struct.pack(">i", 1) + _string(topic.encode())
    body += struct.pack(">iii", 1, partition, len(records)) + records
    return _frame(PRODUCE, 7, body)


def produce_response(correlation_id: bytes, topic: bytes, partition: int) -> bytes:
    body = _string(topic) + struct.pack(">iihqqqi", 1, partition, 0, 0, -1, 0, 0)
    return struct.pack(">i4si", 8 + len(body), correlation_id, 1) + body


def produce_error(response: bytes) -> int:
    """The error of the one partition in a whole response frame."""
    (name_size,) = struct.unpack_from(">h", response, 12)
    error: int = struct.unpack_from(">h", response, 14 + name_size + 8)[0]
    return error


def fetch_request(
    topic: str, offsets: dict[int, int], *, max_wait_ms: int, bytes_max: int
) -> bytes:
    body = struct.pack(">iiiibii", -1, max_wait_ms, 1, 50 * 1024 * 1024, 0, 0, -1)
    body += struct.pack(">i", 1) + _string(topic.encode()) + struct.pack(">i", len(offsets))
    for partition, offset in offsets.items():
        body += struct.pack(">iiqqi", partition, -1, offset, -1, bytes_max)
    body += struct.pack(">i", 0) + _string(b"")
    return _frame(FETCH, 11, body)


def partitions_asked_for(frame: memoryview, body: int) -> tuple[bytes, dict[int, int]]:
    """The topic of a Fetch request and the offset of each partition in it."""
    topic = body + 29
    (name_size,) = struct.unpack_from(">h", frame, topic)
    name = bytes(frame[topic + 2 : topic + 2 + name_size])
    position = topic + 2 + name_size
    (count,) = struct.unpack_from(">i", frame, position)
    asked: dict[int, int] = {}
    for number in range(count):
        partition, _, offset = struct.unpack_from(">iiq", frame, position + 4 + number * 28)
        asked[partition] = offset
    return name, asked


def fetch_response_chunks(
    correlation_id: bytes, topic: bytes, partitions: Sequence[int], records_size: int
) -> list[bytes]:
    """What stands before the records of each partition, the whole response being one topic."""
    top = struct.pack(">ihii", 0, 0, 0, 1) + _string(topic) + struct.pack(">i", len(partitions))
    heads = [
        _FETCH_PARTITION.pack(index, 0, 1 << 40, 1 << 40, 0, -1, -1, records_size)
        for index in partitions
    ]
    size = 4 + len(top) + sum(len(head) + records_size for head in heads)
    heads[0] = struct.pack(">i4s", size, correlation_id) + top + heads[0]
    return heads


def fetched(response: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Each partition with its records, from a response without its length."""
    error, _, topics = struct.unpack_from(">hii", response, 8)
    if error:
        raise RuntimeError(f"Fetch was answered with error {error}")
    position = 18
    for _ in range(topics):
        (name_size,) = struct.unpack_from(">h", response, position)
        position += 2 + name_size
        (partitions,) = struct.unpack_from(">i", response, position)
        position += 4
        for _ in range(partitions):
            index, error, *_, size = _FETCH_PARTITION.unpack_from(response, position)
            if error:
                raise RuntimeError(f"Fetch of partition {index} was answered with error {error}")
            position += _FETCH_PARTITION.size
            yield index, response[position : position + max(size, 0)]
            position += max(size, 0)


def whole_batches(records: memoryview) -> Iterator[tuple[int, int, int]]:
    """Start, size and next offset of each batch that is there to its end."""
    position, end = 0, len(records)
    while position + 61 <= end:
        base_offset, length = _BATCH_TOP.unpack_from(records, position)
        if position + 12 + length > end:
            return
        (delta,) = struct.unpack_from(">i", records, position + _LAST_OFFSET_DELTA)
        yield position, 12 + length, base_offset + delta + 1
        position += 12 + length
