"""A disk in memory that knows what was synced, and can lose the rest, be full, slow or broken.

Metadata are journaled in order: a power loss keeps some first part of the changes to names that
were not synced. Nothing is random but by the `Random` that `power_loss` is handed.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from broker.disk.faults import Fault, Faults, disk_error, fault_error
from broker.disk.faults import is_from_fault as is_from_fault
from broker.disk.interface import Buffer, FileSlice, SlicesInFlight
from broker.disk.memory_tree import Change, Inode, Tree, missing, parent_of
from broker.disk.power_loss import remains

PAGE = 64 * 1024
ENDLESS_BYTES = 1 << 50

Token = Any
Before = Callable[[str, str], Awaitable[Token]]
After = Callable[[str, str, Token], Awaitable[None]]


class MemoryFile:
    def __init__(self, disk: MemoryDisk, path: str, inode: Inode) -> None:
        self.path = path
        self._disk = disk
        self._inode = inode
        self._life = disk.life
        self._is_closed = False
        self._slices = SlicesInFlight()

    @property
    def size(self) -> int:
        return len(self._inode.content)

    def append(self, chunks: Sequence[Buffer]) -> int:
        """Returns the position of the first byte written."""
        self._check("append")
        start = self.size
        self._disk.take_room(sum(map(len, chunks)), self.path)
        for chunk in chunks:
            self._inode.content += chunk
        return start

    def pread(self, length: int, position: int) -> bytes:
        if self._life != self._disk.life:
            raise disk_error(errno.EIO, self.path)
        self._disk.faults.check("pread", self.path)
        if not self._is_warm(position, length):
            self._disk.blocking_reads += 1
        return bytes(self._inode.content[position : position + max(length, 0)])

    def truncate(self, size: int) -> None:
        self._check("truncate")
        if size > self.size:
            raise ValueError(f"{self.path} has {self.size} bytes and cannot be cut to {size}")
        self._slices.detach_beyond(size)
        self._inode.truncate(size)

    def is_hot(self, position: int, length: int) -> bool:
        self._check("is_hot")
        return self._is_warm(position, length)

    def _is_warm(self, position: int, length: int) -> bool:
        cold = self._inode.cold_pages
        return not cold or cold.isdisjoint(_pages(position, length))

    async def warm(self, position: int, length: int) -> None:
        await self._point("warm")
        self._inode.cold_pages.difference_update(_pages(position, length))

    async def fdatasync(self) -> None:
        inode = self._inode
        # What is written while the device works may come too late for it.
        syncing = inode.begin_sync()
        try:
            token = await self._point("fdatasync")
        except BaseException as error:
            has_failed = isinstance(error, OSError) and self._is_alive
            inode.give_up_sync(syncing, has_failed=has_failed)
            raise
        inode.sync(syncing)
        if not self._inode.is_entry_durable:
            self._disk.sync_folder(parent_of(self.path))
            self._inode.is_entry_durable = True
        await self._disk.took_effect("fdatasync", self.path, token)

    async def write_again(self, position: int, length: int) -> None:
        await self._point("write_again")
        self._inode.write_again(position, position + length)

    def slice(self, position: int, length: int) -> FileSlice:
        return self._slices.add(FileSlice(self, position, length))

    def close(self) -> None:
        self._is_closed = True

    async def _point(self, operation: str) -> Token:
        self._check_open()
        token = await self._disk.point(operation, self.path)
        self._check_open()
        return token

    def _check(self, operation: str) -> None:
        self._check_open()
        self._disk.faults.check(operation, self.path)

    @property
    def _is_alive(self) -> bool:
        return self._life == self._disk.life and not self._is_closed

    def _check_open(self) -> None:
        if self._life != self._disk.life:
            raise disk_error(errno.EIO, self.path)
        if self._is_closed:
            raise disk_error(errno.EBADF, self.path)


class MemoryDisk:
    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.before: Before | None = None
        """Awaited at every point where the disk may wait: there a simulator delays or crashes."""

        self.after: After | None = None
        """Awaited when something is durable, before whoever asked for it hears so. It is handed
        what `before` gave for the same operation."""

        self.faults = Faults()
        self.life = 0
        """Counts crashes. Handles of an earlier life are dead."""

        self.blocking_reads = 0
        """How often cold bytes were read without `warm`: each would have stopped the loop."""

        self._now = Tree()
        self._durable = Tree()
        self._unsynced: list[tuple[tuple[str, ...], Change]] = []

    async def create(self, path: str) -> MemoryFile:
        await self.point("create", path)
        if path in self._now.files or path in self._now.folders:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        inode = Inode()
        self._change((parent_of(path),), lambda tree: tree.link(path, inode))
        return MemoryFile(self, path, inode)

    async def open(self, path: str) -> MemoryFile:
        await self.point("open", path)
        return MemoryFile(self, path, self._find(path))

    async def read(self, path: str) -> bytes:
        await self.point("read", path)
        return bytes(self._find(path).content)

    async def replace(self, path: str, content: bytes) -> None:
        token = await self.point("replace", path)
        temporary = path + ".tmp"
        inode = Inode()
        folder = parent_of(path)
        self._change((folder,), lambda tree: tree.link(temporary, inode))
        try:
            self.take_room(len(content), path)
            inode.content += content
            sync_token = await self.point("fdatasync", temporary)
        except OSError:
            if self._now.files.get(temporary) is inode:
                self._change((folder,), lambda tree: tree.unlink(temporary))
            raise
        inode.sync(inode.begin_sync())
        inode.is_entry_durable = True
        await self.took_effect("fdatasync", temporary, sync_token)

        def move(tree: Tree) -> None:
            tree.unlink(temporary)
            tree.link(path, inode)

        self._change((folder,), move)
        await self._sync_point(folder)
        await self.took_effect("replace", path, token)

    async def rename(self, source: str, target: str) -> None:
        token = await self.point("rename", source)
        if parent_of(target) not in self._now.folders:
            raise missing(target)
        folders = (parent_of(source), parent_of(target))
        self._change(folders, lambda tree: tree.rename(source, target))
        for folder in dict.fromkeys(folders):
            await self._sync_point(folder)
        await self.took_effect("rename", source, token)

    async def delete(self, path: str) -> None:
        token = await self.point("delete", path)
        if path in self._now.files:
            self._change((parent_of(path),), lambda tree: tree.unlink(path))
            await self._sync_point(parent_of(path))
            await self.took_effect("delete", path, token)

    async def make_directory(self, path: str) -> None:
        await self.point("make_directory", path)
        if path not in self._now.folders:
            self._change((parent_of(path),), lambda tree: tree.make_folder(path))
            await self._sync_point(parent_of(path))

    async def delete_directory(self, path: str) -> None:
        await self.point("delete_directory", path)
        if path in self._now.folders:
            self._change((parent_of(path),), lambda tree: tree.remove_folder(path))
            await self._sync_point(parent_of(path))

    async def list(self, path: str) -> list[str]:
        await self.point("list", path)
        return self._now.names(path)

    async def free_bytes(self) -> int:
        await self.point("free_bytes", "")
        if self.capacity_bytes is None:
            return ENDLESS_BYTES
        return max(0, self.capacity_bytes - self._used_bytes())

    async def close(self) -> None:
        return None

    # What a test or a simulator does to the disk.

    def power_loss(self, dice: Random | None = None) -> dict[str, int]:
        """All handles die; of what was not synced some is lost or torn, without `dice` all.

        Says how many bytes did not survive, by the names that their files had.
        """
        self.life += 1
        before = {path: (inode, bytes(inode.content)) for path, inode in self._now.files.items()}
        kept = dice.randint(0, len(self._unsynced)) if dice else 0
        for _, change in self._unsynced[:kept]:
            change(self._durable)
        self._unsynced.clear()
        for inode in self._durable.files.values():
            inode.become(remains(inode, dice))
            inode.is_entry_durable = True
            inode.cold_pages.clear()
        self._now = self._durable.copy()
        kept_inodes = {id(inode) for inode in self._now.files.values()}
        lost = {
            path: _lost(content, inode.content if id(inode) in kept_inodes else b"")
            for path, (inode, content) in before.items()
        }
        return {path: count for path, count in lost.items() if count}

    def process_crash(self) -> None:
        """The process is gone but the machine is not: everything written stays readable."""
        self.life += 1

    def fail(
        self,
        operation: str = "*",
        path: str = "*",
        *,
        error: int = errno.EIO,
        times: int | None = None,
    ) -> Fault:
        return self.faults.add(Fault(operation, path, error, 0.0, times))

    def slow(
        self, operation: str = "*", path: str = "*", *, seconds: float, times: int | None = None
    ) -> Fault:
        return self.faults.add(Fault(operation, path, None, seconds, times))

    def heal(self) -> None:
        self.faults.clear()

    def chill(self, path: str = "*") -> None:
        """The cache forgets these files: reading them waits for the device again."""
        for name, inode in self._now.files.items():
            if fnmatchcase(name, path):
                inode.cold_pages.update(_pages(0, len(inode.content)))

    def peek(self, path: str, position: int, length: int) -> bytes | None:
        """As an onlooker reads: it meets no fault, waits for nothing and counts for nothing.

        None when there is no such file.
        """
        inode = self._now.files.get(path)
        return None if inode is None else bytes(inode.content[position : position + length])

    def synced_bytes(self, path: str) -> int:
        """How much of the file, from its beginning, no power loss can take."""
        inode = self._now.files.get(path)
        if inode is None or self._durable.files.get(path) is not inode:
            return 0
        return min([inode.common, *(start for start, _ in inode.given_up)])

    # What the files and the operations above share.

    async def point(self, operation: str, path: str) -> Token:
        """Every wait is a real one, so that no caller comes to rely on not being interrupted."""
        life = self.life
        token = None if self.before is None else await self.before(operation, path)
        await asyncio.sleep(self.faults.delay_s(operation, path))
        if life != self.life:
            raise disk_error(errno.EIO, path)
        self.faults.check(operation, path)
        return token

    async def took_effect(self, operation: str, path: str, token: Token) -> None:
        if self.after is not None:
            await self.after(operation, path, token)

    def take_room(self, size: int, path: str) -> None:
        if self.capacity_bytes is not None and self._used_bytes() + size > self.capacity_bytes:
            raise fault_error(errno.ENOSPC, path)

    def sync_folder(self, folder: str) -> None:
        """Everything up to the last change in this directory is on the device, in order."""
        count = 0
        for index, (folders, _) in enumerate(self._unsynced):
            if folder in folders:
                count = index + 1
        for _, change in self._unsynced[:count]:
            change(self._durable)
        del self._unsynced[:count]

    async def _sync_point(self, folder: str) -> None:
        await self.point("sync_directory", folder)
        self.sync_folder(folder)

    def _change(self, folders: tuple[str, ...], change: Change) -> None:
        change(self._now)
        self._unsynced.append((folders, change))

    def _find(self, path: str) -> Inode:
        inode = self._now.files.get(path)
        if inode is None:
            raise missing(path)
        return inode

    def _used_bytes(self) -> int:
        return sum(len(inode.content) for inode in self._now.files.values())


def _pages(position: int, length: int) -> range:
    return range(position // PAGE, (position + max(length, 1) - 1) // PAGE + 1)


def _lost(before: bytes, after: Buffer) -> int:
    """A file may be longer than it was: when its being cut did not survive."""
    if after[: len(before)] == before:
        return 0
    changed = sum(mine != left for mine, left in zip(before, after, strict=False))
    return changed + max(0, len(before) - len(after))
