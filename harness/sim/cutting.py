"""Cuts a stream of bytes into Kafka frames, so that each frame can be one event of its own.

Bytes that are no frames pass as they come: another protocol, an absurd length, or a frame whose
rest is long in coming.
"""

from __future__ import annotations

from typing import NamedTuple

_LENGTH_SIZE = 4
_SMALLEST_FRAME = 4
FRAME_BYTES_MAX = 128 << 20
CHUNK_BYTES_MAX = 64 << 10
"""What is no frame goes in chunks of this size."""


class Piece(NamedTuple):
    data: bytes
    """With the four bytes of length before a frame."""
    is_frame: bool


class FrameCutter:
    """One direction of one connection."""

    __slots__ = ("_is_raw", "_partial", "_passed_head", "_to_pass")

    def __init__(self) -> None:
        self._is_raw = False
        self._partial = b""
        self._passed_head = b""  # of a length that was passed on before it was known
        self._to_pass = 0  # bytes that belong to a frame whose beginning was passed on

    @property
    def has_partial(self) -> bool:
        return bool(self._partial)

    def is_one_frame(self, data: bytes) -> bool:
        """Then there is nothing to cut, and it need not be fed."""
        size = len(data)
        return (
            size >= _LENGTH_SIZE + _SMALLEST_FRAME
            and not (self._partial or self._to_pass or self._passed_head or self._is_raw)
            and int.from_bytes(data[:_LENGTH_SIZE], "big") == size - _LENGTH_SIZE
        )

    def feed(self, data: bytes) -> list[Piece]:
        return self._cut(self._partial + data)

    def flush(self) -> list[Piece]:
        """Gives up waiting: what there is of a frame goes, and its rest will pass as it comes."""
        partial, self._partial = self._partial, b""
        if not partial:
            return []
        if len(partial) < _LENGTH_SIZE:
            self._passed_head = partial
        else:
            self._to_pass = _LENGTH_SIZE + _length(partial, 0) - len(partial)
        return [Piece(partial, False)]

    def _cut(self, data: bytes) -> list[Piece]:
        found: list[Piece] = []
        self._partial = b""
        start = self._begin(data, found)
        while start < len(data):
            if self._is_raw:
                end = min(start + CHUNK_BYTES_MAX, len(data))
                found.append(Piece(data[start:end], False))
                start = end
                continue
            if len(data) - start < _LENGTH_SIZE:
                self._partial = data[start:]
                break
            length = _length(data, start)
            if not _SMALLEST_FRAME <= length <= FRAME_BYTES_MAX:
                self._is_raw = True
                continue
            end = start + _LENGTH_SIZE + length
            if end > len(data):
                self._partial = data[start:]
                break
            found.append(Piece(data[start:end], True))
            start = end
        return found

    def _begin(self, data: bytes, found: list[Piece]) -> int:
        """Passes on the rest of a frame whose beginning has gone; returns where the next begins."""
        if self._passed_head:
            head = self._passed_head + data
            if len(head) < _LENGTH_SIZE:
                self._passed_head = head
                found.append(Piece(data, False))
                return len(data)
            self._to_pass = _LENGTH_SIZE + _length(head, 0) - len(self._passed_head)
            self._passed_head = b""
            if not 0 < self._to_pass <= FRAME_BYTES_MAX + _LENGTH_SIZE:
                self._to_pass = 0
                self._is_raw = True
        if not self._to_pass:
            return 0
        count = min(self._to_pass, len(data))
        self._to_pass -= count
        found.append(Piece(data[:count], False))
        return count


def _length(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _LENGTH_SIZE], "big", signed=True)
