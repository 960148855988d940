"""Files and directories held in memory, together with what of them is already on the device."""

from __future__ import annotations

import errno
from collections.abc import Callable


class Inode:
    """The bytes of one file: as a reader sees them now, and as they were when last synced.

    A file only grows or is cut, so both versions begin with the same `common` bytes; what the
    device holds beyond them is in `durable_tail`.
    """

    __slots__ = ("cold_pages", "common", "content", "durable_tail", "is_entry_durable")

    def __init__(self) -> None:
        self.content = bytearray()
        self.common = 0
        self.durable_tail = b""
        self.is_entry_durable = False
        self.cold_pages: set[int] = set()

    @property
    def is_synced(self) -> bool:
        return self.common == len(self.content) and not self.durable_tail

    @property
    def durable_content(self) -> bytes:
        return bytes(self.content[: self.common]) + self.durable_tail

    def truncate(self, size: int) -> None:
        if size < self.common:
            self.durable_tail = bytes(self.content[size : self.common]) + self.durable_tail
            self.common = size
        del self.content[size:]

    def sync(self) -> None:
        self.common = len(self.content)
        self.durable_tail = b""

    def become(self, content: bytes) -> None:
        """After a power loss there is one version only."""
        self.content = bytearray(content)
        self.sync()


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
        found = {p: None for p in (*self.files, *self.folders) if p and parent_of(p) == path}
        return sorted(p.rpartition("/")[2] for p in found)


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :] if path.startswith(source + "/") else path


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", path)
