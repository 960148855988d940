"""A bound on open files: who is closed for a while, and what never changes by it."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest

from broker.disk.files import FileDisk
from broker.disk.open_file import OpenFile
from broker.disk.open_files import OpenFiles
from tests.open_descriptors import open_below

LIMIT = 16


async def written(disk: FileDisk, count: int) -> list[OpenFile]:
    await disk.make_directory("d")
    files = []
    for number in range(count):
        file = await disk.create(f"d/{number}.log")
        file.append([b"first of %d " % number])
        files.append(file)
    return files


@pytest.fixture
def disk(tmp_path: Path) -> FileDisk:
    return FileDisk(str(tmp_path), threads=2, open_files=OpenFiles(LIMIT))


async def test_many_files_are_written_and_read_with_few_open(
    disk: FileDisk, tmp_path: Path
) -> None:
    files = await written(disk, 100)
    for turn in range(3):
        for file in files:
            file.append([b"turn %d " % turn])
            assert open_below(tmp_path) <= LIMIT + 20
    await asyncio.gather(*(file.fdatasync() for file in files))
    for number, file in enumerate(files):
        assert file.pread(100, 0) == b"first of %d turn 0 turn 1 turn 2 " % number
    await disk.close()
    assert open_below(tmp_path) <= LIMIT + 20


async def test_a_slice_in_flight_keeps_its_descriptor(disk: FileDisk) -> None:
    [held, *_] = files = await written(disk, 1)
    piece = held.slice(0, 5)
    number = held.fileno()
    others = [await disk.create(f"d/other{n}.log") for n in range(3 * LIMIT)]
    assert held.fileno() == number >= 0
    assert os.pread(number, 5, 0) == b"first" == piece.read()
    assert sum(other.is_open for other in others) < 2 * LIMIT
    await disk.close()
    assert len(files) == 1


async def test_more_slices_at_once_than_files_may_be_open(disk: FileDisk, tmp_path: Path) -> None:
    files = await written(disk, 100)
    await asyncio.gather(*(file.fdatasync() for file in files))
    pieces = [file.slice(0, 5) for file in files]
    assert open_below(tmp_path) <= LIMIT + 20
    assert {piece.read() for piece in pieces} == {b"first"}
    in_flight = [piece for piece in pieces if piece.data is None]
    assert in_flight
    for piece in in_flight:
        assert isinstance(piece.file, OpenFile)
        assert os.pread(piece.file.fileno(), 5, 0) == b"first"
    await disk.close()


async def test_the_work_for_a_slice_does_not_grow_with_the_slices_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch of many partitions runs on the loop, and nobody else is served meanwhile."""
    limit, looks = 400, 0

    def is_open(file: OpenFile) -> bool:
        nonlocal looks
        looks += 1
        return file.fileno() >= 0

    disk = FileDisk(str(tmp_path), threads=2, open_files=OpenFiles(limit))
    files = await written(disk, 2 * limit)
    await asyncio.gather(*(file.fdatasync() for file in files))
    monkeypatch.setattr(OpenFile, "is_open", property(is_open))
    pieces = []
    for file in files:
        before = looks
        pieces.append(file.slice(0, 5))
        assert looks - before <= 200
    held = [piece for piece in pieces if piece.data is None]
    assert len(held) > limit // 2
    assert open_below(tmp_path) <= limit + 20
    await disk.close()


async def test_slices_are_held_again_once_the_crowd_is_gone(disk: FileDisk, tmp_path: Path) -> None:
    """Also when no file is opened any more, which is when room is usually made."""
    files = await written(disk, 4 * LIMIT)
    await asyncio.gather(*(file.fdatasync() for file in files))
    pieces = [file.slice(0, 5) for file in files]
    assert any(piece.data is not None for piece in pieces)
    del pieces
    for _ in range(4):
        still_open = [file for file in files if file.is_open]
        last = [file.slice(0, 5).data for file in still_open if file.is_open]
    assert last
    assert set(last) == {None}
    await disk.close()


async def test_a_file_that_was_renamed_is_found_again(disk: FileDisk) -> None:
    files = await written(disk, 3 * LIMIT)
    assert not all(file.is_open for file in files)
    await disk.rename("d", "e")
    await disk.rename("e/0.log", "e/moved.log")
    for number, file in enumerate(files):
        file.append([b"more"])
        assert file.pread(100, 0) == b"first of %d more" % number
    assert await disk.read("e/moved.log") == b"first of 0 more"
    await disk.rename("e", "f")
    await disk.delete_directory("f")
    for number, file in enumerate(files):
        assert file.pread(100, 0) == b"first of %d more" % number
    await disk.close()


async def test_a_rename_opens_none_of_its_files(disk: FileDisk, tmp_path: Path) -> None:
    """A log may have more segments than files may be open, and then some."""
    files = await written(disk, 6 * LIMIT)
    await asyncio.gather(*(file.fdatasync() for file in files))
    before = open_below(tmp_path)
    opened: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("broker.disk.open_file.open_descriptor", opened.append)
        await disk.rename("d", "e")
    assert not opened
    assert open_below(tmp_path) <= before
    for number, file in enumerate(files):
        assert file.pread(100, 0) == b"first of %d " % number
    await disk.close()


@pytest.mark.parametrize("is_done", [False, True])
async def test_files_are_used_while_their_folder_is_renamed(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    """The thread may have renamed it already, or not yet."""
    files = await written(disk, 3 * LIMIT)
    await asyncio.gather(*(file.fdatasync() for file in files))
    is_asked, may_go_on = threading.Event(), threading.Event()

    def rename(source: Path, target: Path) -> None:
        if is_done:
            source.replace(target)
        is_asked.set()
        may_go_on.wait(10)
        if not is_done:
            source.replace(target)

    monkeypatch.setattr("broker.disk.files._rename", rename)
    renaming = asyncio.create_task(disk.rename("d", "e"))
    await asyncio.to_thread(is_asked.wait, 10)
    for number, file in enumerate(files):
        assert file.pread(100, 0) == b"first of %d " % number
    may_go_on.set()
    await renaming
    for number, file in enumerate(files):
        assert file.pread(100, 0) == b"first of %d " % number
    await disk.close()


@pytest.mark.parametrize("is_done", [False, True])
async def test_a_rename_that_fails_leaves_its_files_in_reach(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    """It may have happened: the sync of the folder fails, or the caller is cancelled."""
    files = await written(disk, 3 * LIMIT)
    await asyncio.gather(*(file.fdatasync() for file in files))

    def rename(source: Path, target: Path) -> None:
        if is_done:
            source.replace(target)
        raise OSError(errno.EIO, "the device is gone")

    with monkeypatch.context() as patch:
        patch.setattr("broker.disk.files._rename", rename)
        with pytest.raises(OSError, match="the device is gone"):
            await disk.rename("d", "e")
    assert not all(file.is_open for file in files)
    for number, file in enumerate(files):
        file.append([b"more"])
        assert file.pread(100, 0) == b"first of %d more" % number
    await disk.rename("e" if is_done else "d", "f")
    for number, file in enumerate(files):
        assert file.pread(100, 0) == b"first of %d more" % number
    await disk.close()


async def test_a_file_that_was_deleted_stays_readable_and_is_no_other(disk: FileDisk) -> None:
    files = await written(disk, 3 * LIMIT)
    await disk.delete("d/0.log")
    new = await disk.create("d/0.log")
    new.append([b"another"])
    _ = [await disk.create(f"d/more{n}.log") for n in range(2 * LIMIT)]
    assert files[0].pread(100, 0) == b"first of 0 "
    await disk.delete_directory("d")
    assert new.pread(100, 0) == b"another"
    await disk.close()


async def test_another_file_of_the_same_name_is_never_taken_for_it(
    disk: FileDisk, tmp_path: Path
) -> None:
    files = await written(disk, 3 * LIMIT)
    closed = next(file for file in files if not file.is_open)
    (tmp_path / "stranger").write_bytes(b"a stranger's")
    (tmp_path / "stranger").replace(tmp_path / closed.path)
    with pytest.raises(OSError, match="another file") as refused:
        closed.append([b"x"])
    assert refused.value.errno == errno.ESTALE
    assert (tmp_path / closed.path).read_bytes() == b"a stranger's"
    await disk.close()


async def test_what_is_let_go_is_synced_first_and_its_error_is_kept(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a descriptor the kernel may forget that the write-back failed."""
    synced: list[int] = []

    def failing(number: int) -> None:
        synced.append(number)
        raise OSError(errno.EIO, "the device is gone")

    monkeypatch.setattr(os, "fdatasync", failing)
    files = await written(disk, 3 * LIMIT)
    for _ in range(100):
        await asyncio.sleep(0.01)
        if any(not file.is_open for file in files):
            break
    assert synced
    closed = next(file for file in files if not file.is_open)
    monkeypatch.undo()
    with pytest.raises(OSError, match="the device is gone"):
        await closed.fdatasync()
    await closed.fdatasync()
    await disk.close()


async def test_an_error_met_before_closing_fails_the_sync_that_waits_for_it(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports a failed write-back once: the second sync of a descriptor succeeds."""
    [file] = await written(disk, 1)
    is_asked, may_go_on = threading.Event(), threading.Event()
    results = iter([OSError(errno.EIO, "the device is gone"), None])

    def once_failing(number: int) -> None:
        result = next(results)
        if result is not None:
            is_asked.set()
            may_go_on.wait(10)
            raise result

    monkeypatch.setattr(os, "fdatasync", once_failing)
    before_closing = asyncio.create_task(file.sync_later())
    await asyncio.to_thread(is_asked.wait, 10)
    asked = asyncio.create_task(file.fdatasync())
    await asyncio.wait([asked], timeout=0.02)
    may_go_on.set()
    with pytest.raises(OSError, match="the device is gone"):
        await asked
    await before_closing
    await disk.close()


async def test_a_sync_waits_for_bytes_that_are_being_written_again(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the file counts as synced, and may be closed, with bytes that are not on the device."""
    [file] = await written(disk, 1)
    is_asked, may_go_on = threading.Event(), threading.Event()
    really_write, really_sync = os.pwrite, os.fdatasync
    seen: list[str] = []

    def slow_write(number: int, data: bytes, position: int) -> int:
        is_asked.set()
        may_go_on.wait(10)
        seen.append("written")
        return really_write(number, data, position)

    def sync(number: int) -> None:
        seen.append("synced")
        really_sync(number)

    monkeypatch.setattr(os, "pwrite", slow_write)
    monkeypatch.setattr(os, "fdatasync", sync)
    writing = asyncio.create_task(file.write_again(0, 5))
    await asyncio.to_thread(is_asked.wait, 10)
    before_closing = asyncio.create_task(file.sync_later())
    await asyncio.wait([before_closing], timeout=0.05)
    may_go_on.set()
    await asyncio.gather(writing, before_closing)
    assert seen == ["written", "synced"]
    assert not file.is_dirty
    await disk.close()


async def test_a_file_closed_before_its_sync_began_is_left_alone(disk: FileDisk) -> None:
    [file] = await written(disk, 1)
    before_closing = asyncio.create_task(file.sync_later())
    file.close()
    await before_closing
    await disk.close()


async def test_when_the_system_refuses_a_file_others_are_closed(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections have taken the descriptors: fewer are left than the bound says."""
    files = await written(disk, LIMIT - 1)
    really_open = os.open

    def refusing(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if all(file.is_open for file in files):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return really_open(path, flags, mode)

    monkeypatch.setattr(os, "open", refusing)
    new = await disk.create("d/new.log")
    new.append([b"new"])
    assert not all(file.is_open for file in files)
    monkeypatch.undo()
    await disk.close()
