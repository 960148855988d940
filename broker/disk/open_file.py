"""One file of the real disk: its descriptor, which may be closed for a while, and its end."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

from broker.disk import descriptor as descriptors
from broker.disk.descriptor import Descriptor, open_descriptor, sync_folder
from broker.disk.interface import Buffer, FileSlice, SlicesInFlight
from broker.disk.open_files import OpenFiles
from broker.disk.threads import DiskThreads
from broker.disk.young_tail import YoungTail

PROBE_DISTANCE = 64 * 1024
"""The kernel reads ahead and drops in larger pieces than this, mostly."""

BUFFERS_PER_WRITE = 1024
"""IOV_MAX of Linux."""


class _Slices(SlicesInFlight):
    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self._slices)


class OpenFile:
    """One file, held by its descriptor. After `rename` its path still says where it was opened.

    When many files are open, the descriptor of one that was not used for a while is closed, and
    `_number` is -1 until the next use opens the file again: never another one of the same name.
    """

    def __init__(
        self,
        path: str,
        place: Path,
        descriptor: Descriptor,
        threads: DiskThreads,
        others: OpenFiles,
        *,
        is_new: bool,
    ) -> None:
        self.path = path
        self.places: tuple[Path, ...] = (place,)
        """Where the file may lie: more than one while it is renamed, or when that failed."""
        self._descriptor = descriptor
        self._number = descriptor.number
        self._threads = threads
        self._others = others
        status = os.fstat(descriptor.number)
        self._identity = status.st_dev, status.st_ino
        self._size = status.st_size
        self._is_closed = False
        self._is_kept_open = False  # no path leads to the file
        self.was_used = True
        # A process that crashed may have written to it.
        self.is_dirty = not is_new
        self._kept_error: OSError | None = None
        # The kernel reports a failed write-back once: of two syncs at a time one would not see it.
        self._syncing = asyncio.Lock()
        others.opened(self)
        self._slices = _Slices()
        self._tail = YoungTail()
        # Whoever created it, maybe a process that crashed, may not have synced its name.
        self._is_entry_durable = False

    @property
    def size(self) -> int:
        return self._size

    @property
    def is_open(self) -> bool:
        return self._number >= 0

    @property
    def can_let_go(self) -> bool:
        return not self._is_kept_open and not self._slices and not self._descriptor.is_used

    def let_go(self) -> None:
        self._descriptor.close()
        self._number = -1

    def sync_now(self) -> None:
        self.is_dirty = False
        try:
            os.fdatasync(self._number)
        except OSError as problem:
            self._kept_error = problem

    async def sync_later(self) -> None:
        async with self._syncing:
            if self._number < 0:
                return
            self.is_dirty = False
            self._descriptor.acquire()
            try:
                await self._threads.run(descriptors.fdatasync, self._descriptor)
            except OSError as problem:
                self._kept_error = problem

    def _open_again(self) -> None:
        """On the loop: the kernel has the names of files that were open moments ago in memory."""
        if self._is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        self._others.make_room()
        try:
            descriptor = self._find()
        except OSError as problem:
            if not self._others.makes_way(problem):
                raise
            descriptor = self._find()
        self._descriptor, self._number = descriptor, descriptor.number
        self._others.opened(self)

    def _find(self) -> Descriptor:
        """The order matters: a thread may rename the file from the first place to the next."""
        problem: OSError | None = None
        for place in self.places:
            try:
                descriptor = open_descriptor(place, os.O_RDWR)
            except FileNotFoundError as missing:
                problem = problem or missing
                continue
            if descriptors.is_same_file(descriptor, self._identity):
                return descriptor
            descriptor.close()
            problem = OSError(errno.ESTALE, "another file has this name now", self.path)
        assert problem is not None
        raise problem

    def keep_open(self) -> None:
        """Keeps the descriptor open, or gets one, before the file is deleted."""
        if self._number < 0 and not self._is_closed:
            self._open_again()
        self._is_kept_open = True

    def fileno(self) -> int:
        """For sendfile. Only valid while a slice of this file is held."""
        return self._number

    def append(self, chunks: Sequence[Buffer]) -> int:
        """Returns the position of the first byte written."""
        start = self._size
        if self._number < 0:
            self._open_again()
        self.was_used = self.is_dirty = True
        try:
            if len(chunks) == 1:
                wanted = len(chunks[0])
                written = os.pwrite(self._number, chunks[0], start)
            else:
                wanted = sum(map(len, chunks))
                written = os.pwritev(self._number, chunks[:BUFFERS_PER_WRITE], start)
            if written != wanted:
                self._write_rest(chunks, written, start)
        except OSError:
            # Should even this fail, the next append writes over the remains, at the same place.
            with suppress(OSError):
                os.ftruncate(self._number, start)
            raise
        self._size = start + wanted
        self._tail.appended(start, monotonic())
        return start

    def _write_rest(self, chunks: Sequence[Buffer], written: int, start: int) -> None:
        """A write is short when the disk becomes full, or when there are very many chunks."""
        rest = memoryview(b"".join(chunks))[written:]
        position = start + written
        while rest:
            count = os.pwrite(self._number, rest, position)
            if count == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
            rest = rest[count:]
            position += count

    def pread(self, length: int, position: int) -> bytes:
        length = min(length, self._size - position)
        if length <= 0:
            return b""
        if self._number < 0:
            self._open_again()
        self.was_used = True
        data = os.pread(self._number, length, position)
        if len(data) == length:
            return data
        return self._read_rest(data, length, position)

    def _read_rest(self, data: bytes, length: int, position: int) -> bytes:
        pieces = [data]
        count = len(data)
        while data and count < length:
            data = os.pread(self._number, length - count, position + count)
            pieces.append(data)
            count += len(data)
        return b"".join(pieces)

    def truncate(self, size: int) -> None:
        if size > self._size:
            raise ValueError(f"{self.path} has {self._size} bytes and cannot be cut to {size}")
        self._slices.detach_beyond(size)
        if self._number < 0:
            self._open_again()
        self.was_used = self.is_dirty = True
        os.ftruncate(self._number, size)
        self._size = size
        self._tail.truncated(size)

    def is_hot(self, position: int, length: int) -> bool:
        if self._tail.covers(position, monotonic()):
            return True
        last = min(position + length, self._size) - 1
        if last < position:
            return True
        if self._number < 0:
            self._open_again()
        probe = [bytearray(1)]
        try:
            for place in range(position, last, PROBE_DISTANCE):
                os.preadv(self._number, probe, place, os.RWF_NOWAIT)
            os.preadv(self._number, probe, last, os.RWF_NOWAIT)
        except BlockingIOError:
            return False
        except OSError as problem:
            # A file system in memory knows no waiting, and says so in this way.
            if problem.errno == errno.EOPNOTSUPP:
                return True
            raise
        return True

    async def warm(self, position: int, length: int) -> None:
        end = min(position + length, self._size)
        if position < end:
            if self._number < 0:
                self._open_again()
            self._descriptor.acquire()
            await self._threads.run(descriptors.read_and_forget, self._descriptor, position, end)

    async def fdatasync(self) -> None:
        async with self._syncing:
            await self._sync_content()
        if not self._is_entry_durable:
            # The content of a file is worth nothing before its name is on the device, too.
            # A directory that was renamed meanwhile was synced with that.
            for place in self.places:
                with suppress(FileNotFoundError):
                    await self._threads.run(sync_folder, place.parent)
            self._is_entry_durable = True

    async def _sync_content(self) -> None:
        if self._kept_error is not None:
            problem, self._kept_error = self._kept_error, None
            raise problem
        if self._is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        if self._number < 0:
            return  # It was synced before its descriptor was let go.
        self.is_dirty = False
        self._descriptor.acquire()
        try:
            await self._threads.run(descriptors.fdatasync, self._descriptor)
        except BaseException:
            self.is_dirty = True
            raise

    async def write_again(self, position: int, length: int) -> None:
        # A sync at the same time would call the file clean, and not have all of these bytes.
        async with self._syncing:
            end = min(position + length, self._size)
            if position < end:
                if self._number < 0:
                    self._open_again()
                self.is_dirty = True
                self._descriptor.acquire()
                await self._threads.run(descriptors.write_again, self._descriptor, position, end)

    def slice(self, position: int, length: int) -> FileSlice:
        if self._number < 0:
            self._open_again()
        self.was_used = True
        piece = FileSlice(self, position, length)
        if self._others.is_crowded:
            # One fetch of many partitions could keep more files open than there may be.
            piece.detach()
            # Perhaps no file is opened for a long time, and all slices would be copied until then.
            self._others.make_room()
            return piece
        return self._slices.add(piece)

    def close(self) -> None:
        """With slices in flight the descriptor stays open as long as they hold this file."""
        if not self._slices:
            self._is_closed = True
            self._descriptor.close()
            self._number = -1
