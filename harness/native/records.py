"""From the bytes of a fetch to records, each with the leader epoch of its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from broker.protocol.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatchError,
    read_header,
    verify_crc,
)
from broker.protocol.control import EndTransactionMarker, read_marker
from broker.protocol.records import iterate_records

_DECOMPRESSED_BYTES_MAX = 256 << 20


class ReadRecord(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    leader_epoch: int
    timestamp_ms: int
    """The producer's, or under LogAppendTime that of its batch."""


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """`records` is empty for a control batch: applications never see its markers."""

    header: BatchHeader
    records: tuple[ReadRecord, ...]
    marker: EndTransactionMarker | None = None
    """Of a control batch that ends a transaction."""


def read_batches(data: memoryview | bytes | None, from_offset: int) -> list[ReadBatch]:
    """Whole batches only: a broker may cut off the last one where the reader's limit was.

    The first may begin before `from_offset`; what is before it is left out.
    """
    found: list[ReadBatch] = []
    view = memoryview(data or b"")
    position = 0
    while len(view) - position >= HEADER_SIZE:
        header = read_header(view, position)
        if position + header.size > len(view):
            break
        if not verify_crc(view, position, header):
            raise CorruptBatchError(f"the batch at offset {header.base_offset} has a wrong CRC")
        here = view[position:]
        found.append(ReadBatch(header, _records(here, header, from_offset), _marker(here, header)))
        position += header.size
    return found


def _marker(view: memoryview, header: BatchHeader) -> EndTransactionMarker | None:
    if not header.is_control:
        return None
    for record in iterate_records(view, header, max_bytes=_DECOMPRESSED_BYTES_MAX):
        return read_marker(record)
    return None


def _records(view: memoryview, header: BatchHeader, from_offset: int) -> tuple[ReadRecord, ...]:
    if header.is_control:
        return ()
    return tuple(
        ReadRecord(record.offset, record.key, record.value, header.leader_epoch, record.timestamp)
        for record in iterate_records(view, header, max_bytes=_DECOMPRESSED_BYTES_MAX)
        if record.offset >= from_offset
    )
