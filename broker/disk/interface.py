"""What the broker may ask of a disk. Nothing in broker touches `os` or `open` but the real disk.

Append, pread and truncate are synchronous: they end in the page cache. Everything that may wait
for the device is awaitable, and each await is a point where a simulator may delay, fail or crash.
All failures are `OSError`s with the errno that the kernel would give (ENOSPC, EIO, EROFS ...).
Paths are plain strings with `/`; a disk roots them where it was told to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from weakref import WeakValueDictionary

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """One open file, written only at its end. Closed by `close` or when nobody holds it."""

    path: str

    @property
    def size(self) -> int: ...

    def append(self, chunks: Sequence[Buffer]) -> int:
        """Writes all chunks at the end, or none: a short write is cut off again and raised."""
        ...

    def pread(self, length: int, position: int) -> bytes:
        """For bytes that are known to be hot. Short only at the end of the file."""
        ...

    def truncate(self, size: int) -> None:
        """Slices in flight beyond `size` are read into memory first, so they stay true."""
        ...

    def is_hot(self, position: int, length: int) -> bool:
        """Whether a read of these bytes would not wait for the device."""
        ...

    async def warm(self, position: int, length: int) -> None:
        """Brings these bytes into memory off the loop. Afterwards `pread` does not wait."""
        ...

    async def fdatasync(self) -> None:
        """What was appended before the call is on the device when it returns.

        When it fails, nobody knows what of it is, and the kernel will not try again: it calls the
        bytes clean, and the next sync succeeds without them. `write_again` makes them count.
        """
        ...

    async def write_again(self, position: int, length: int) -> None:
        """The same bytes at the same place, so that the next `fdatasync` takes care of them."""
        ...

    def slice(self, position: int, length: int) -> FileSlice: ...

    def close(self) -> None:
        """Slices in flight keep the bytes readable, also after a delete."""
        ...


class Disk(Protocol):
    """One `log.dir`, or one whole machine: a tree of files below a root."""

    async def create(self, path: str) -> File:
        """A new empty file; FileExistsError when there is one."""
        ...

    async def open(self, path: str) -> File:
        """An existing file, for recovery and appending; FileNotFoundError when there is none."""
        ...

    async def read(self, path: str) -> bytes:
        """The whole of a small file."""
        ...

    async def replace(self, path: str, content: bytes) -> None:
        """Atomic and durable: after a crash the file holds the old content or the new one."""
        ...

    async def rename(self, source: str, target: str) -> None:
        """Atomic, and durable when it returns: the directories are synced."""
        ...

    async def delete(self, path: str) -> None:
        """Durable when it returns. A missing file is not an error."""
        ...

    async def make_directory(self, path: str) -> None:
        """With its parents; durable when it returns; an existing one is not an error."""
        ...

    async def delete_directory(self, path: str) -> None:
        """With all that is in it. A missing one is not an error."""
        ...

    async def list(self, path: str) -> list[str]:
        """Names (not paths) of files and directories, sorted; empty for a missing directory."""
        ...

    async def free_bytes(self) -> int: ...

    async def close(self) -> None: ...


class FileSlice:
    """Bytes of a file on their way to a socket. `data` is set once they had to be copied."""

    __slots__ = ("__weakref__", "data", "file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length
        self.data: bytes | None = None

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        """The twin of sendfile: the same bytes, through memory."""
        if self.data is not None:
            return self.data
        return self.file.pread(self.length, self.position)

    def detach(self) -> None:
        """Copies the bytes out, because the file is about to lose them."""
        self.data = self.read()


class SlicesInFlight:
    """The slices of one file that somebody still holds; they are detached before a truncation."""

    __slots__ = ("_count", "_slices")

    def __init__(self) -> None:
        # Numbered, because the order in which they are read decides which of them meets a fault.
        self._slices: WeakValueDictionary[int, FileSlice] = WeakValueDictionary()
        self._count = 0

    def add(self, piece: FileSlice) -> FileSlice:
        self._count += 1
        self._slices[self._count] = piece
        return piece

    def detach_beyond(self, size: int) -> None:
        for _, piece in sorted(self._slices.items()):
            if piece.data is None and piece.position + piece.length > size:
                piece.detach()


class ColdReadError(Exception):
    """A synchronous read met bytes that are not in memory. Await `warm`, then try again."""

    def __init__(self, file: File, position: int, length: int) -> None:
        super().__init__(f"{file.path} at {position}, {length} bytes, is not in memory")
        self.file = file
        self.position = position
        self.length = length

    async def warm(self) -> None:
        await self.file.warm(self.position, self.length)
