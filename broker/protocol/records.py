"""The records inside a batch: read out of one, or built into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from broker.protocol.batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    BatchHeader,
    CorruptBatchError,
    assemble,
)
from broker.protocol.compression import Codec, compress, decompress
from broker.protocol.varint import append_varint, read_varint

Headers = tuple[tuple[bytes, bytes | None], ...]

SMALLEST_RECORD = 7
"""Length, attributes, two deltas, two absent fields and a header count: one byte each."""


class Record(NamedTuple):
    """Header names stay bytes, because the broker must store even what is not UTF-8."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class RecordExtent(NamedTuple):
    """Where a record lies in the data of its batch, and the little that compaction looks at."""

    start: int
    body: int
    """Where the length ends and the attributes stand."""

    after_timestamp: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    has_value: bool


def record_data(batch: memoryview, header: BatchHeader, *, max_bytes: int) -> bytes:
    """The records of the batch at the beginning of the view, decompressed."""
    if len(batch) < header.size:
        raise CorruptBatchError(f"the batch takes {header.size} bytes, got {len(batch)}")
    body = batch[HEADER_SIZE : header.size]
    if header.record_count == 0 and not body:
        # A batch that compaction emptied has a header only, whatever its codec.
        return b""
    return decompress(header.codec, body, max_bytes)


def iterate_records(batch: memoryview, header: BatchHeader, *, max_bytes: int) -> Iterator[Record]:
    """Every record, checked to fill the batch exactly; all damage is a CorruptBatchError.

    The damage may be met late: records before it have been handed out by then.
    """
    data = record_data(batch, header, max_bytes=max_bytes)
    count = header.record_count
    if count < 0 or count * SMALLEST_RECORD > len(data):
        raise CorruptBatchError(f"{len(data)} bytes cannot hold {count} records")
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    position = 0
    try:
        for _ in range(count):
            record, position = _read_record(data, position, header)
            yield record if append_time is None else record._replace(timestamp=append_time)
    except IndexError:
        raise CorruptBatchError(f"the record at byte {position} is cut off") from None
    if position != len(data):
        raise CorruptBatchError(f"{len(data) - position} bytes are left after the last record")


def _read_record(data: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    size, position = read_varint(data, position)
    end = position + size
    if size < SMALLEST_RECORD - 1 or end > len(data):
        raise CorruptBatchError(f"a record cannot be {size} bytes long")
    timestamp_delta, position = read_varint(data, position + 1)
    offset_delta, position = read_varint(data, position)
    key, position = _read_field(data, position, end)
    value, position = _read_field(data, position, end)
    header_count, position = read_varint(data, position)
    headers: Headers = ()
    if header_count:
        headers, position = _read_headers(data, position, end, header_count)
    if position != end:
        raise CorruptBatchError(f"a record of {size} bytes does not fill them")
    return (
        Record(
            header.base_offset + offset_delta,
            header.base_timestamp + timestamp_delta,
            key,
            value,
            headers,
        ),
        position,
    )


def _read_field(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    field_end = position + size
    if field_end > end:
        raise CorruptBatchError(f"a field of {size} bytes does not fit in its record")
    return data[position:field_end], field_end


def _read_headers(data: bytes, position: int, end: int, count: int) -> tuple[Headers, int]:
    if not 0 <= count <= (end - position) // 2:
        raise CorruptBatchError(f"a record cannot have {count} headers")
    headers: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        name, position = _read_field(data, position, end)
        if name is None:
            raise CorruptBatchError("a header has no name")
        value, position = _read_field(data, position, end)
        headers.append((name, value))
    return tuple(headers), position


def iterate_extents(data: bytes, count: int) -> Iterator[RecordExtent]:
    """Every record without its value and headers; they are only known to fit."""
    if count < 0 or count * SMALLEST_RECORD > len(data):
        raise CorruptBatchError(f"{len(data)} bytes cannot hold {count} records")
    position = 0
    try:
        for _ in range(count):
            start = position
            size, body = read_varint(data, start)
            end = body + size
            if size < SMALLEST_RECORD - 1 or end > len(data):
                raise CorruptBatchError(f"a record cannot be {size} bytes long")
            timestamp_delta, after_timestamp = read_varint(data, body + 1)
            offset_delta, position = read_varint(data, after_timestamp)
            key, position = _read_field(data, position, end)
            value_size, position = read_varint(data, position)
            if position + max(value_size, 0) >= end:
                raise CorruptBatchError(f"a value of {value_size} bytes does not fit in its record")
            yield RecordExtent(
                start, body, after_timestamp, end, timestamp_delta, offset_delta, key,
                value_size >= 0,
            )  # fmt: skip
            position = end
    except IndexError:
        raise CorruptBatchError(f"the record at byte {position} is cut off") from None
    if position != len(data):
        raise CorruptBatchError(f"{len(data) - position} bytes are left after the last record")


def build_batch(
    records: Iterable[Record],
    *,
    codec: int = Codec.NONE,
    base_offset: int | None = None,
    last_offset: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    level: int | None = None,
) -> bytearray:
    """`attributes` are the bits beside the codec. Bounds not given are those of the records."""
    kept = list(records)
    first = kept[0] if kept else Record(0, -1, None, None)
    base_offset = first.offset if base_offset is None else base_offset
    base_timestamp = first.timestamp if base_timestamp is None else base_timestamp
    if last_offset is None:
        last_offset = kept[-1].offset if kept else base_offset
    if max_timestamp is None:
        max_timestamp = max([record.timestamp for record in kept], default=base_timestamp)
    body = b""
    if kept:
        body = compress(codec, pack_records(kept, base_offset, base_timestamp), level)
    return assemble(
        base_offset,
        leader_epoch,
        (
            attributes | (codec if kept else Codec.NONE),
            last_offset - base_offset,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            len(kept),
        ),
        body,
    )


def pack_records_in_python(
    records: list[Record], base_offset: int, base_timestamp: int, /
) -> bytes:
    """The twin of the compiled function."""
    out = bytearray()
    for record in records:
        body = bytearray(1)
        append_varint(body, record.timestamp - base_timestamp)
        append_varint(body, record.offset - base_offset)
        _append_field(body, record.key)
        _append_field(body, record.value)
        append_varint(body, len(record.headers))
        for name, value in record.headers:
            _append_field(body, name)
            _append_field(body, value)
        append_varint(out, len(body))
        out += body
    return bytes(out)


def _append_field(out: bytearray, field: bytes | None) -> None:
    if field is None:
        out.append(1)  # -1 as a zig-zag varint
        return
    append_varint(out, len(field))
    out += field


if TYPE_CHECKING:

    def pack_records(records: list[Record], base_offset: int, base_timestamp: int, /) -> bytes:
        """The records of a batch as they are stored, before compression."""
else:
    try:
        from broker.protocol._native import pack_records
    except ImportError:
        pack_records = pack_records_in_python
