"""Record batches of a stored segment, format v2, read without any help of a broker.

Brokers are what is on trial, so nothing of theirs is used to read what they wrote.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct, error

import cramjam
import lz4.frame
import zstandard
from google_crc32c import value as crc32c

_HEADER = Struct(">qiibIhiqqqhii")
_PREFIX = 12
"""Base offset and length, which the length does not count."""
_CHECKED_FROM = 21
_MAGIC = 2
_CODEC, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_MARKER = Struct(">hh")
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_INT32 = Struct(">I")
_LARGEST = 1 << 30


class DamagedError(Exception):
    """Bytes that are no batch, though they should be one."""


class TornError(DamagedError):
    """The end of the file comes before that of its last batch: a write was under way."""


@dataclass(frozen=True, slots=True)
class Record:
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    base: int
    last: int
    """The last offset that it takes, of a record or not: compaction leaves gaps."""
    epoch: int
    producer: int
    transactional: bool
    marker: bool | None
    """Of a batch that ends a transaction: whether it commits it."""
    control: bool
    records: tuple[Record, ...]


def batches(data: bytes) -> Iterator[Batch]:
    """Those of one segment, in their order."""
    position = 0
    while position < len(data):
        if position + _HEADER.size > len(data):
            raise TornError(f"{len(data) - position} bytes at {position} are less than a header")
        fields = _HEADER.unpack_from(data, position)
        base, length, epoch, magic, checksum, attributes, last, *_ = fields
        producer, count = fields[9], fields[12]
        if magic != _MAGIC or length < _HEADER.size - _PREFIX:
            raise DamagedError(f"the batch at {position} has format {magic}, length {length}")
        end = position + _PREFIX + length
        if end > len(data):
            raise TornError(f"the batch at {position} ends {end - len(data)} bytes too late")
        if crc32c(data[position + _CHECKED_FROM : end]) != checksum:
            raise DamagedError(f"the batch at {position} fails its checksum")
        body = data[position + _HEADER.size : end]
        try:
            records = tuple(_records(_unpacked(attributes & _CODEC, body), base, count))
        except (IndexError, ValueError, error) as problem:
            raise DamagedError(f"the batch at {position} cannot be read: {problem}") from None
        control = bool(attributes & _CONTROL)
        yield Batch(
            base=base,
            last=base + last,
            epoch=epoch,
            producer=producer,
            transactional=bool(attributes & _TRANSACTIONAL),
            marker=_commits(records) if control else None,
            control=control,
            records=() if control else records,
        )
        position = end


def _commits(records: tuple[Record, ...]) -> bool | None:
    key = records[0].key if records else None
    if key is None or len(key) < _MARKER.size:
        return None
    kind: int = _MARKER.unpack_from(key)[1]
    return {0: False, 1: True}.get(kind)


def _unpacked(codec: int, body: bytes) -> bytes:
    try:
        match codec:
            case 0:
                return body
            case 1:
                return zlib.decompress(body, wbits=31)
            case 2:
                return _snappy(body)
            case 3:
                unpacked: bytes = lz4.frame.decompress(body)
                return unpacked
            case 4:
                return zstandard.ZstdDecompressor().decompress(body, max_output_size=_LARGEST)
            case _:
                raise ValueError("there is none of this number")
    except Exception as problem:
        # Each library has errors of its own.
        raise ValueError(f"codec {codec}: {problem}") from None


def _snappy(body: bytes) -> bytes:
    """Bare, or in the blocks of the Java library."""
    if not body.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(body))
    whole, position = b"", _XERIAL_HEADER
    while position < len(body):
        (size,) = _INT32.unpack_from(body, position)
        position += _INT32.size
        whole += bytes(cramjam.snappy.decompress_raw(body[position : position + size]))
        position += size
    return whole


def _records(data: bytes, base: int, count: int) -> Iterator[Record]:
    position = 0
    for _ in range(count):
        length, position = _varint(data, position)
        end = position + length
        _, at = _varint(data, position + 1)
        delta, at = _varint(data, at)
        key, at = _bytes(data, at)
        value, at = _bytes(data, at)
        if not at <= end <= len(data):
            raise ValueError("a record is longer than it says")
        yield Record(base + delta, key, value)
        position = end


def _bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = _varint(data, position)
    if length < 0:
        return None, position
    return data[position : position + length], position + length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    raw, shift = 0, 0
    while True:
        byte = data[position]
        raw |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")
