"""The logs on one simulated disk, as an onlooker finds them, and damage done to them.

What is damaged is damaged on the device too: no synced copy is left of it. Only topics of users are
touched, because the cluster's own bookkeeping has no replicas that could mend it.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from zlib import crc32

from broker.disk.memory import MemoryDisk
from harness.cluster.capabilities import StoredDamage

_BATCH = Struct(">qi")  # base offset, and how many bytes follow
_HEADER_BYTES = 61
_INTERNAL = "__"


class StoredLogs:
    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk
        self.flipped: set[str] = set()
        """The logs, by their directory, that hold bytes which nobody wrote."""

    def segments(self, topic: str) -> dict[int, list[int]]:
        """By partition: the sizes of its segments, the oldest first."""
        found: dict[int, list[int]] = {}
        for path in sorted(self._disk._now.files):
            folder, _, name = path.rpartition("/")
            owner, _, index = folder.rpartition("-")
            if owner == topic and index.isdigit() and name.endswith(".log"):
                size = len(self._disk._now.files[path].content)
                found.setdefault(int(index), []).append(size)
        return found

    def fingerprint(self) -> int:
        """Another one after any change of any of them."""
        seen = 0
        for segments in self._by_partition():
            for segment in segments:
                seen = crc32(self._disk._now.files[segment].content, crc32(segment.encode(), seen))
        return seen

    def flip_bit(self, draw: float) -> StoredDamage | None:
        """In the records of a batch of a segment that is not written to any more."""
        batches = [
            (path, position, size)
            for segments in self._by_partition()
            for path in segments[:-1]
            for position, size in self._batches(path)
        ]
        if not batches:
            return None
        path, position, size = batches[int(draw * len(batches))]
        at = position + _HEADER_BYTES + (size - _HEADER_BYTES) // 2
        self._disk._now.files[path].content[at] ^= 1
        log = path.rpartition("/")[0]
        self.flipped.add(log)
        return StoredDamage(log, f"a bit of {path} was flipped at byte {at}")

    def truncate_tail(self, draw: float) -> StoredDamage | None:
        """Of a segment that is written to, up to one byte into its last batch or more."""
        tails = [
            segments[-1]
            for segments in self._by_partition()
            if self._disk._now.files[segments[-1]].content
        ]
        if not tails:
            return None
        scaled = draw * len(tails)
        path = tails[int(scaled)]
        inode = self._disk._now.files[path]
        cut = max(1, int((scaled % 1.0) * len(inode.content)))
        inode.become(bytes(inode.content[:-cut]))
        log = path.rpartition("/")[0]
        return StoredDamage(log, f"{cut} bytes were cut off the end of {path}")

    def _by_partition(self) -> list[list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self._disk._now.files):
            folder, _, name = path.rpartition("/")
            if name.endswith(".log") and not folder.startswith(_INTERNAL):
                found.setdefault(folder, []).append(path)
        return list(found.values())

    def _batches(self, path: str) -> Iterator[tuple[int, int]]:
        """Where each begins, and its size, its header included."""
        content = self._disk._now.files[path].content
        position = 0
        while position + _HEADER_BYTES < len(content):
            _, length = _BATCH.unpack_from(content, position)
            size = _BATCH.size + length
            if size <= _HEADER_BYTES or position + size > len(content):
                return
            yield position, size
            position += size
