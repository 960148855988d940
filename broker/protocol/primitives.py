"""What compiled decoders and encoders call: variable-length integers and tagged fields."""

from __future__ import annotations

from typing import NoReturn

from broker.protocol.errors import MalformedMessageError, TooManyElementsError

Readable = bytes | memoryview

_MAX_UVARINT_SHIFT = 28
"""An unsigned varint of the protocol has 32 bits, so at most five bytes."""

_TAGGED_FIELDS_MAX = 1000
"""In one struct. Kafka's messages define fewer than ten; each one skipped costs half a
microsecond, so that a frame of nothing but tags would keep a server busy for seconds."""

SHORT_UVARINTS = tuple(bytes([value]) for value in range(128))


def read_uvarint(data: Readable, offset: int) -> tuple[int, int]:
    """The value and the offset after it. Running out of bytes is an IndexError."""
    byte = data[offset]
    offset += 1
    if byte < 0x80:
        return byte, offset
    value = byte & 0x7F
    for shift in range(7, _MAX_UVARINT_SHIFT + 1, 7):
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
    raise MalformedMessageError(f"a varint before byte {offset} is longer than five bytes")


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return SHORT_UVARINTS[value]
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def skip_tagged_fields(data: Readable, offset: int, end: int) -> tuple[int, int]:
    """From the count of tagged fields to the byte after the last of them, and that count."""
    count, offset = read_uvarint(data, offset)
    check_tag_count(count, offset)
    for _ in range(count):
        _, offset = read_uvarint(data, offset)
        size, offset = read_uvarint(data, offset)
        offset += size
        if offset > end:
            refuse("tagged field", offset)
    return offset, count


def check_tag_count(count: int, offset: int) -> None:
    if count > _TAGGED_FIELDS_MAX:
        raise MalformedMessageError(
            f"{count} tagged fields at byte {offset}; a struct may have {_TAGGED_FIELDS_MAX}"
        )


def refuse(what: str, offset: int) -> NoReturn:
    raise MalformedMessageError(f"{what} is null, too long or has the wrong size at byte {offset}")


def too_many(what: str, count: int) -> NoReturn:
    raise TooManyElementsError(what, count)
