"""The real disk: files below one directory. What may wait for the device runs in a few threads."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

from broker.disk.descriptor import open_descriptor, sync_folder
from broker.disk.open_file import OpenFile
from broker.disk.open_files import OpenFiles
from broker.disk.threads import DiskThreads


class FileDisk:
    def __init__(self, root: str, threads: int = 4, open_files: OpenFiles | None = None) -> None:
        """`open_files` bounds how many are open at a time; without it nothing does."""
        self._root = Path(root)
        self._open_files = open_files or OpenFiles()
        self._by_folder: dict[Path, WeakSet[OpenFile]] = {}
        self._threads = DiskThreads(threads)
        self._replacing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def create(self, path: str) -> OpenFile:
        return await self._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    async def open(self, path: str) -> OpenFile:
        return await self._open(path, os.O_RDWR)

    async def _open(self, path: str, flags: int) -> OpenFile:
        place = self._root / path
        async with self._open_files.opening:
            self._open_files.make_room()
            try:
                descriptor = await self._threads.run(open_descriptor, place, flags)
            except OSError as problem:
                if not self._open_files.makes_way(problem):
                    raise
                descriptor = await self._threads.run(open_descriptor, place, flags)
            file = OpenFile(
                path,
                place,
                descriptor,
                self._threads,
                self._open_files,
                is_new=bool(flags & os.O_CREAT),
            )
        self._set_places(file, file.places)
        return file

    def _files_at(self, place: Path) -> list[OpenFile]:
        """Those that lie there: the file itself, or all in the folder."""
        inside = self._by_folder.get(place, ())
        beside = self._by_folder.get(place.parent, ())
        return [*inside, *(file for file in beside if place in file.places)]

    def _keep_open(self, place: Path) -> None:
        for file in self._files_at(place):
            with suppress(FileNotFoundError):
                file.keep_open()

    async def read(self, path: str) -> bytes:
        return await self._threads.run((self._root / path).read_bytes)

    async def replace(self, path: str, content: bytes) -> None:
        # Two writers of one file would share its temporary name, so they go one by one.
        lock = self._replacing.setdefault(path, asyncio.Lock())
        async with lock:
            await self._threads.run(_replace, self._root / path, content)

    async def rename(self, source: str, target: str) -> None:
        before, after = self._root / source, self._root / target
        moved = [(file, _places_after(file, before, after)) for file in self._files_at(before)]
        for file, places in moved:
            # A file that is closed may be used meanwhile: it is found at the one or the other.
            self._set_places(file, [*file.places, *places])
        # When this fails or is cancelled, it may have happened all the same: both places stay.
        await self._threads.run(_rename, before, after)
        for file, places in moved:
            self._set_places(file, places)
        if not self._by_folder.get(before):
            self._by_folder.pop(before, None)

    def _set_places(self, file: OpenFile, places: Sequence[Path]) -> None:
        for folder in {place.parent for place in file.places}:
            known = self._by_folder.get(folder)
            if known is not None:
                known.discard(file)
                if not known:
                    del self._by_folder[folder]
        # Each once, and the one that a rename leads to stays the last.
        file.places = tuple(reversed(dict.fromkeys(reversed(places))))
        for folder in {place.parent for place in places}:
            self._by_folder.setdefault(folder, WeakSet()).add(file)

    async def delete(self, path: str) -> None:
        """A file that is still held stays readable, and so open."""
        self._keep_open(self._root / path)
        await self._threads.run(_delete, self._root / path)

    async def make_directory(self, path: str) -> None:
        await self._threads.run(_make_directory, self._root / path)

    async def delete_directory(self, path: str) -> None:
        self._keep_open(self._root / path)
        await self._threads.run(_delete_directory, self._root / path)
        self._by_folder.pop(self._root / path, None)

    async def list(self, path: str) -> list[str]:
        return await self._threads.run(_list, self._root / path)

    async def free_bytes(self) -> int:
        return await self._threads.run(_free_bytes, self._root)

    async def close(self) -> None:
        await self._open_files.close()
        self._threads.close()


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
    sync_folder(place.parent)


def _places_after(file: OpenFile, before: Path, after: Path) -> list[Path]:
    """Where the file may lie when `before` is called `after`."""
    return [
        after / place.relative_to(before) for place in file.places if place.is_relative_to(before)
    ]


def _rename(source: Path, target: Path) -> None:
    source.replace(target)
    sync_folder(target.parent)
    if source.parent != target.parent:
        sync_folder(source.parent)


def _delete(place: Path) -> None:
    with suppress(FileNotFoundError):
        place.unlink()
        sync_folder(place.parent)


def _make_directory(place: Path) -> None:
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    place.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def _delete_directory(place: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(place)
        sync_folder(place.parent)


def _list(place: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in place.iterdir())
    except FileNotFoundError:
        return []


def _free_bytes(root: Path) -> int:
    status = os.statvfs(root)
    return status.f_bavail * status.f_frsize
