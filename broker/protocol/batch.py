"""The header of a record batch (format v2): read, checked and patched without touching a record."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, error
from typing import NamedTuple

from broker.protocol.checksum import crc32c

MAGIC = 2
HEADER_SIZE = 61
PREFIX_SIZE = 12
"""Base offset and length: what the length field does not count."""

CRC_START = 21
"""The CRC covers everything from the attributes on, so offset and leader epoch may be patched."""

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
"""KIP-534: the base timestamp field holds the time from which tombstones may be dropped."""

_HEADER = Struct(">qiibIhiqqqhii")
_UP_TO_THE_CRC = Struct(">qiibI")
_SUMMED = Struct(">hiqqqhii")
_unpack_header = _HEADER.unpack_from
_new_tuple = tuple.__new__  # half the price of BatchHeader(*fields), on the hottest path of all
_EXTENT = Struct(">qi11xi")
read_extent = _EXTENT.unpack_from
"""Base offset, length and last offset delta: all that a walk looks at. It checks nothing."""
EXTENT_SIZE = _EXTENT.size
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")

_LEADER_EPOCH_AT = 12
_CRC_AT = 17
_ATTRIBUTES_AT = 21
_MAX_TIMESTAMP_AT = 35
SMALLEST_LENGTH = HEADER_SIZE - PREFIX_SIZE


class CorruptBatchError(Exception):
    """Bytes that are not the record batch they claim to be."""


class TooMuchDataError(CorruptBatchError):
    """More comes out of the compressed data than the reader is ready to take."""


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return PREFIX_SIZE + self.length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequence numbers wrap to 0 after 2^31 - 1. -1 when the producer numbers nothing."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """0: the producer's clock (CreateTime), 1: the broker's (LogAppendTime)."""
        return (self.attributes & LOG_APPEND_TIME) >> 3

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON)

    @property
    def delete_horizon_ms(self) -> int | None:
        return self.base_timestamp if self.has_delete_horizon else None


def read_header(view: memoryview | bytes | bytearray, position: int = 0) -> BatchHeader:
    """The fields as they stand. Only the length is checked, so that a walk always moves on."""
    try:
        header = _new_tuple(BatchHeader, _unpack_header(view, position))
    except error:
        left = len(view) - position
        raise CorruptBatchError(f"a batch header takes {HEADER_SIZE} bytes, got {left}") from None
    if header.length < SMALLEST_LENGTH:
        raise CorruptBatchError(f"a batch cannot be {header.length} bytes long")
    return header


def iterate_headers(view: memoryview, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Each batch with its position; a batch that the view cuts off raises."""
    end = len(view)
    while position < end:
        header = read_header(view, position)
        if position + header.size > end:
            raise CorruptBatchError(
                f"the batch at byte {position} takes {header.size} bytes, got {end - position}"
            )
        yield position, header
        position += header.size


def verify_crc(view: memoryview, position: int, header: BatchHeader) -> bool:
    end = position + header.size
    if end > len(view):
        return False
    return crc32c(view[position + CRC_START : end]) == header.crc


def patch(view: memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Assigns the offset and the epoch in place. Neither is covered by the CRC."""
    _BASE_OFFSET.pack_into(view, position, base_offset)
    _LEADER_EPOCH.pack_into(view, position + _LEADER_EPOCH_AT, leader_epoch)


def stamp_append_time(view: memoryview, position: int, time_ms: int) -> None:
    """LogAppendTime: one timestamp for the whole batch. The records keep their own, unread."""
    (attributes,) = _ATTRIBUTES.unpack_from(view, position + _ATTRIBUTES_AT)
    _ATTRIBUTES.pack_into(view, position + _ATTRIBUTES_AT, attributes | LOG_APPEND_TIME)
    _MAX_TIMESTAMP.pack_into(view, position + _MAX_TIMESTAMP_AT, time_ms)
    rewrite_crc(view, position)


def with_append_time(header: BatchHeader, time_ms: int) -> BatchHeader:
    """The header that `stamp_append_time` leaves, but for its CRC."""
    return header._replace(attributes=header.attributes | LOG_APPEND_TIME, max_timestamp=time_ms)


def rewrite_crc(view: memoryview, position: int) -> None:
    end = position + read_header(view, position).size
    _CRC.pack_into(view, position + _CRC_AT, crc32c(view[position + CRC_START : end]))


def write_header(view: memoryview | bytearray, position: int, header: BatchHeader) -> None:
    _HEADER.pack_into(view, position, *header)


def assemble(
    base_offset: int, leader_epoch: int, summed: tuple[int, ...], body: bytes | bytearray
) -> bytearray:
    """A batch with its CRC. `summed` are the fields that it covers, from the attributes on."""
    covered = _SUMMED.pack(*summed) + body
    length = CRC_START - PREFIX_SIZE + len(covered)
    batch = bytearray(
        _UP_TO_THE_CRC.pack(base_offset, length, leader_epoch, MAGIC, crc32c(covered))
    )
    batch += covered
    return batch
