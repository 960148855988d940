"""The sparse index of a segment: which byte to start from to find an offset.

It lives in memory; its file is written when the segment is rolled or closed, in Kafka's format.
An entry names the last offset of the batch that begins at its position.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise

ENTRY_SIZE = 8


class CorruptIndexError(Exception):
    """An index file that cannot belong to its segment; it is rebuilt from the log."""


class OffsetIndex:
    __slots__ = ("_offsets", "_positions")

    def __init__(self) -> None:
        self._offsets = array("i")  # relative to the segment's base offset
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def last(self) -> tuple[int, int] | None:
        return (self._offsets[-1], self._positions[-1]) if self._offsets else None

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._offsets, self._positions, strict=True))

    def add(self, relative_offset: int, position: int) -> None:
        self._offsets.append(relative_offset)
        self._positions.append(position)

    def floor(self, relative_offset: int) -> int:
        """The position of a batch at or before the one that holds this offset."""
        above = bisect_right(self._offsets, relative_offset)
        return self._positions[above - 1] if above else 0

    def boundary(self, position: int) -> int:
        """The last known start of a batch at or before this byte."""
        above = bisect_right(self._positions, position)
        return self._positions[above - 1] if above else 0

    def truncate(self, size: int) -> None:
        """Forgets the batches that begin at byte `size` or later."""
        keep = bisect_left(self._positions, size)
        del self._offsets[keep:]
        del self._positions[keep:]

    def encode(self) -> bytes:
        mixed = array("i", bytes(ENTRY_SIZE * len(self._offsets)))
        mixed[0::2] = self._offsets
        mixed[1::2] = self._positions
        return _big_endian(mixed).tobytes()

    @classmethod
    def decode(cls, content: bytes, log_size: int) -> OffsetIndex:
        if len(content) % ENTRY_SIZE:
            raise CorruptIndexError(f"{len(content)} bytes are no multiple of {ENTRY_SIZE}")
        mixed = _big_endian(array("i", content))
        index = cls()
        index._offsets = mixed[0::2]
        index._positions = mixed[1::2]
        if len(index) and index._positions[-1] >= log_size:
            raise CorruptIndexError(f"the last entry points behind the log's {log_size} bytes")
        if any(
            a >= b for column in (index._offsets, index._positions) for a, b in pairwise(column)
        ):
            raise CorruptIndexError("the entries do not rise")
        return index


def _big_endian(column: array[int]) -> array[int]:
    """To the byte order of the file, or back."""
    if sys.byteorder == "little":
        column.byteswap()
    return column
