"""The real disk: files below one directory. What may wait for the device runs in a few threads."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from broker.disk.interface import Buffer, FileSlice, SlicesInFlight
from broker.disk.young_tail import YoungTail

PROBE_DISTANCE = 64 * 1024
"""The kernel reads ahead and drops in larger pieces than this, mostly."""

WARM_SIZE = 256 * 1024
BUFFERS_PER_WRITE = 1024
"""IOV_MAX of Linux."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _Descriptor:
    """A file descriptor that is not closed while a thread works with it.

    Its number might be given to another file at once, and that file be synced in its place.
    """

    __slots__ = ("_is_closing", "_lock", "_users", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self._lock = Lock()
        self._users = 0
        self._is_closing = False

    def acquire(self) -> None:
        with self._lock:
            if self._is_closing:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            self._close_if_unused()

    def close(self) -> None:
        with self._lock:
            self._is_closing = True
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_closing and self._users == 0 and self.number >= 0:
            number, self.number = self.number, -1
            os.close(number)

    def __del__(self) -> None:
        """For what nobody closed, and for work that was cancelled before it began."""
        if self.number >= 0:
            os.close(self.number)


class _Slices(SlicesInFlight):
    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self._slices)


class _Threads:
    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="disk")

    async def run(
        self,
        work: Callable[_Arguments, _Result],
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> _Result:
        """Also when the caller is cancelled, the thread is done with the disk when it returns."""
        assert not kwargs
        done = asyncio.get_running_loop().run_in_executor(self._pool, work, *args)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            # A lock that the caller holds must not be free while the thread still works.
            while not done.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([done])
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=True)


class OpenFile:
    """One file, held by its descriptor. After `rename` its path still says where it was opened."""

    def __init__(self, path: str, folder: Path, descriptor: _Descriptor, threads: _Threads) -> None:
        self.path = path
        self._folder = folder
        self._descriptor = descriptor
        self._number = descriptor.number
        self._threads = threads
        self._size = os.fstat(descriptor.number).st_size
        self._slices = _Slices()
        self._tail = YoungTail()
        # Whoever created it, maybe a process that crashed, may not have synced its name.
        self._is_entry_durable = False

    @property
    def size(self) -> int:
        return self._size

    def fileno(self) -> int:
        """For sendfile. Only valid while a slice of this file is held."""
        return self._number

    def append(self, chunks: Sequence[Buffer]) -> int:
        """Returns the position of the first byte written."""
        start = self._size
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
        os.ftruncate(self._number, size)
        self._size = size
        self._tail.truncated(size)

    def is_hot(self, position: int, length: int) -> bool:
        if self._tail.covers(position, monotonic()):
            return True
        last = min(position + length, self._size) - 1
        if last < position:
            return True
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
            self._descriptor.acquire()
            await self._threads.run(_read_and_forget, self._descriptor, position, end)

    async def fdatasync(self) -> None:
        self._descriptor.acquire()
        await self._threads.run(_fdatasync, self._descriptor)
        if not self._is_entry_durable:
            # The content of a file is worth nothing before its name is on the device, too.
            # A directory that was renamed meanwhile was synced with that.
            with suppress(FileNotFoundError):
                await self._threads.run(_sync_folder, self._folder)
            self._is_entry_durable = True

    async def write_again(self, position: int, length: int) -> None:
        end = min(position + length, self._size)
        if position < end:
            self._descriptor.acquire()
            await self._threads.run(_write_again, self._descriptor, position, end)

    def slice(self, position: int, length: int) -> FileSlice:
        return self._slices.add(FileSlice(self, position, length))

    def close(self) -> None:
        """With slices in flight the descriptor stays open as long as they hold this file."""
        if not self._slices:
            self._descriptor.close()
            self._number = -1


class FileDisk:
    def __init__(self, root: str, threads: int = 4) -> None:
        self._root = Path(root)
        self._threads = _Threads(threads)
        self._replacing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def create(self, path: str) -> OpenFile:
        return await self._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    async def open(self, path: str) -> OpenFile:
        return await self._open(path, os.O_RDWR)

    async def _open(self, path: str, flags: int) -> OpenFile:
        place = self._root / path
        descriptor = await self._threads.run(_open_descriptor, place, flags)
        return OpenFile(path, place.parent, descriptor, self._threads)

    async def read(self, path: str) -> bytes:
        return await self._threads.run((self._root / path).read_bytes)

    async def replace(self, path: str, content: bytes) -> None:
        # Two writers of one file would share its temporary name, so they go one by one.
        lock = self._replacing.setdefault(path, asyncio.Lock())
        async with lock:
            await self._threads.run(_replace, self._root / path, content)

    async def rename(self, source: str, target: str) -> None:
        await self._threads.run(_rename, self._root / source, self._root / target)

    async def delete(self, path: str) -> None:
        await self._threads.run(_delete, self._root / path)

    async def make_directory(self, path: str) -> None:
        await self._threads.run(_make_directory, self._root / path)

    async def delete_directory(self, path: str) -> None:
        await self._threads.run(_delete_directory, self._root / path)

    async def list(self, path: str) -> list[str]:
        return await self._threads.run(_list, self._root / path)

    async def free_bytes(self) -> int:
        return await self._threads.run(_free_bytes, self._root)

    async def close(self) -> None:
        self._threads.close()


def _open_descriptor(place: Path, flags: int) -> _Descriptor:
    return _Descriptor(os.open(place, flags | os.O_CLOEXEC, 0o644))


def _read_and_forget(descriptor: _Descriptor, position: int, end: int) -> None:
    buffer = [bytearray(min(WARM_SIZE, end - position))]
    try:
        while position < end:
            count = os.preadv(descriptor.number, buffer, position)
            if count == 0:
                return
            position += count
    finally:
        descriptor.release()


def _write_again(descriptor: _Descriptor, position: int, end: int) -> None:
    try:
        while position < end:
            data = os.pread(descriptor.number, min(WARM_SIZE, end - position), position)
            count = os.pwrite(descriptor.number, data, position)
            if count == 0:
                raise OSError(errno.EIO, "the file ended while it was written again")
            position += count
    finally:
        descriptor.release()


def _fdatasync(descriptor: _Descriptor) -> None:
    try:
        os.fdatasync(descriptor.number)
    finally:
        descriptor.release()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(place: Path, content: bytes) -> None:
    temporary = place.with_name(place.name + ".tmp")
    try:
        with temporary.open("wb", buffering=0) as out:
            rest = memoryview(content)
            while rest:
                rest = rest[out.write(rest) or 0 :]
            os.fsync(out.fileno())
        temporary.replace(place)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(place.parent)


def _rename(source: Path, target: Path) -> None:
    source.replace(target)
    _sync_folder(target.parent)
    if source.parent != target.parent:
        _sync_folder(source.parent)


def _delete(place: Path) -> None:
    with suppress(FileNotFoundError):
        place.unlink()
        _sync_folder(place.parent)


def _make_directory(place: Path) -> None:
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    place.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        _sync_folder(folder.parent)


def _delete_directory(place: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(place)
        _sync_folder(place.parent)


def _list(place: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in place.iterdir())
    except FileNotFoundError:
        return []


def _free_bytes(root: Path) -> int:
    status = os.statvfs(root)
    return status.f_bavail * status.f_frsize
