"""Files and directories held in memory, together with what of them is already on the device."""

from __future__ import annotations

import errno
from collections.abc import Callable


class Syncing:
    """One sync on its way: up to where the bytes are still those it began with, and what they were
    beyond. What is written after it began it may miss, so that counts for nothing."""

    __slots__ = ("end", "is_overtaken", "tail")

    def __init__(self, end: int) -> None:
        self.end = end
        self.tail = b""
        self.is_overtaken = False

    def changed_from(self, start: int, before: bytes) -> None:
        """From `start` on the file is about to change; `before` is all of it."""
        if start < self.end:
            self.tail = before[start : self.end] + self.tail
            self.end = start


class Inode:
    """The bytes of one file: as a reader sees them now, and as they were when last synced.

    A file only grows or is cut, so both versions begin with the same `common` bytes; what the
    device holds beyond them is in `durable_tail`. What a failed sync gave up is in `given_up`: the
    cache shows these bytes, no later sync cares for them, and the device has zeros there.
    """

    __slots__ = ("_syncs", "cold_pages", "common", "content", "durable_tail", "given_up",
                 "is_entry_durable")  # fmt: skip

    def __init__(self) -> None:
        self.content = bytearray()
        self.common = 0
        self.durable_tail = b""
        self.given_up: list[tuple[int, int]] = []
        self.is_entry_durable = False
        self.cold_pages: set[int] = set()
        self._syncs: list[Syncing] = []

    @property
    def is_synced(self) -> bool:
        return self.common == len(self.content) and not self.durable_tail and not self.given_up

    @property
    def reachable_content(self) -> bytes:
        """What the device shows once everything that is dirty has been written back."""
        content = bytearray(self.content)
        for start, end in self.given_up:
            content[start:end] = bytes(end - start)
        return bytes(content)

    @property
    def durable_content(self) -> bytes:
        return self.reachable_content[: self.common] + self.durable_tail

    def truncate(self, size: int) -> None:
        if self._syncs:
            reachable = self.reachable_content
            for each in self._syncs:
                each.changed_from(size, reachable)
        if size < self.common:
            self.durable_tail = bytes(self.content[size : self.common]) + self.durable_tail
            self.common = size
        del self.content[size:]
        self._give_up([(start, min(end, size)) for start, end in self.given_up])

    def begin_sync(self) -> Syncing:
        """To be ended by `sync` or `give_up_sync`."""
        syncing = Syncing(len(self.content))
        self._syncs.append(syncing)
        return syncing

    def sync(self, syncing: Syncing) -> None:
        """The device has the file as it was when the sync began, unless it has it younger."""
        place = self._syncs.index(syncing)
        for each in self._syncs[:place]:
            each.is_overtaken = True
        del self._syncs[place]
        if not syncing.is_overtaken:
            self.common = syncing.end
            self.durable_tail = syncing.tail

    def give_up_sync(self, syncing: Syncing, *, has_failed: bool) -> None:
        if syncing in self._syncs:
            self._syncs.remove(syncing)
            if has_failed:
                self._give_up([*self.given_up, (self.common, syncing.end)])

    def write_again(self, start: int, end: int) -> None:
        kept: list[tuple[int, int]] = []
        durable = self.durable_content
        for first, last in self.given_up:
            kept += ((first, min(last, start)), (max(first, end), last))
            if max(first, start) < min(last, end, self.common):
                # The device has zeros here until the next sync, whatever follows them.
                self.common = max(first, start)
                self.durable_tail = durable[self.common :]
                for each in self._syncs:
                    each.changed_from(self.common, durable)
        self._give_up(kept)

    def _give_up(self, ranges: list[tuple[int, int]]) -> None:
        self.given_up = [(start, end) for start, end in ranges if start < end]

    def become(self, content: bytes) -> None:
        """After a power loss there is one version only."""
        self.content = bytearray(content)
        self.given_up = []
        self.durable_tail = b""
        self.common = len(self.content)
        self._syncs.clear()


Change = Callable[["Tree"], None]


class Tree:
    """Which names there are. Dicts, not sets: their order is the same in every run."""

    def __init__(self) -> None:
        self.files: dict[str, Inode] = {}
        self.folders: dict[str, None] = {"": None}

    def copy(self) -> Tree:
        twin = Tree()
        twin.files = dict(self.files)
        twin.folders = dict(self.folders)
        return twin

    def link(self, path: str, inode: Inode) -> None:
        if parent_of(path) not in self.folders:
            raise missing(path)
        self.files[path] = inode

    def unlink(self, path: str) -> None:
        self.files.pop(path, None)

    def make_folder(self, path: str) -> None:
        while path:
            self.folders[path] = None
            path = parent_of(path)

    def remove_folder(self, path: str) -> None:
        inside = path + "/"
        self.folders = {f: None for f in self.folders if f != path and not f.startswith(inside)}
        self.files = {f: i for f, i in self.files.items() if not f.startswith(inside)}

    def rename(self, source: str, target: str) -> None:
        if source in self.files:
            self.link(target, self.files.pop(source))
            return
        if source not in self.folders:
            raise missing(source)
        self.make_folder(target)
        inside = source + "/"
        self.folders = {_moved(f, source, target): None for f in self.folders if f != source}
        self.files = {
            (_moved(f, source, target) if f.startswith(inside) else f): inode
            for f, inode in self.files.items()
        }

    def names(self, path: str) -> list[str]:
        inside = path + "/" if path else ""
        cut = len(inside)
        below = [p[cut:] for p in (*self.files, *self.folders) if p.startswith(inside)]
        return sorted({name: None for name in below if name and "/" not in name})


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :] if path.startswith(source + "/") else path


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", path)
