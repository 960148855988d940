"""Zig-zag varints, as the records inside a batch use them."""

from __future__ import annotations

from broker.protocol.batch import CorruptBatchError

_LONGEST_SHIFT = 63
_LARGEST = 2**64 - 1


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The number and the position behind it; IndexError when the data end inside it."""
    byte = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    raw = byte & 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80 and raw <= _LARGEST:
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
        if shift > _LONGEST_SHIFT:
            raise CorruptBatchError("a varint is larger than 64 bits")


def append_varint(out: bytearray, number: int) -> None:
    raw = (number << 1) ^ (number >> 63)
    while raw > 0x7F:
        out.append((raw & 0x7F) | 0x80)
        raw >>= 7
    out.append(raw)
