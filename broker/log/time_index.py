"""The sparse index of a segment by time: after which offset all timestamps are larger.

An entry (t, o) says: t is the largest timestamp up to here, and the batch that ends at o has it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from struct import Struct

from broker.log.offset_index import CorruptIndexError

ENTRY_SIZE = 12
_ENTRY = Struct(">qi")


class TimeIndex:
    __slots__ = ("_offsets", "_timestamps")

    def __init__(self) -> None:
        self._timestamps = array("q")
        self._offsets = array("i")  # relative to the segment's base offset

    def __len__(self) -> int:
        return len(self._timestamps)

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._timestamps, self._offsets, strict=True))

    @property
    def last(self) -> tuple[int, int] | None:
        """The largest timestamp and its relative offset."""
        return (self._timestamps[-1], self._offsets[-1]) if self._timestamps else None

    def add(self, timestamp: int, relative_offset: int) -> None:
        """Only what rises is worth an entry; -1 is no timestamp."""
        if timestamp > (self._timestamps[-1] if self._timestamps else -1):
            self._timestamps.append(timestamp)
            self._offsets.append(relative_offset)

    def floor(self, timestamp: int) -> int:
        """A relative offset such that nothing up to it has `timestamp` or more; 0 at worst."""
        reached = bisect_left(self._timestamps, timestamp)
        return self._offsets[reached - 1] if reached else 0

    def truncate(self, relative_end: int) -> None:
        """Forgets entries for offsets from `relative_end` on."""
        keep = bisect_left(self._offsets, relative_end)
        del self._timestamps[keep:]
        del self._offsets[keep:]

    def encode(self) -> bytes:
        return b"".join(map(_ENTRY.pack, self._timestamps, self._offsets))

    @classmethod
    def decode(cls, content: bytes) -> TimeIndex:
        if len(content) % ENTRY_SIZE:
            raise CorruptIndexError(f"{len(content)} bytes are no multiple of {ENTRY_SIZE}")
        index = cls()
        previous = (-1, -1)
        for timestamp, offset in _ENTRY.iter_unpack(content):
            if timestamp <= previous[0] or offset <= previous[1]:
                raise CorruptIndexError("the entries do not rise")
            previous = (timestamp, offset)
            index._timestamps.append(timestamp)
            index._offsets.append(offset)
        return index
