"""What only the real disk can get wrong."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
from pathlib import Path

import pytest

from broker.disk.files import FileDisk
from broker.disk.open_file import OpenFile
from tests.open_descriptors import open_below, settle

MEGABYTE = 1 << 20


async def cold_file(files: FileDisk) -> OpenFile:
    """Opened again, so that nothing counts as just written, and dropped from the cache."""
    file = await files.create("cold.log")
    file.append([os.urandom(MEGABYTE)])
    await file.fdatasync()
    file.close()
    file = await files.open("cold.log")
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file


def can_evict(file: OpenFile) -> bool:
    """A file system in memory has nothing to evict to; there, everything is honestly hot."""
    try:
        os.preadv(file.fileno(), [bytearray(1)], 512 * 1024, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except OSError as problem:
        if problem.errno != errno.EOPNOTSUPP:
            raise
    return False


async def test_evicted_bytes_are_cold_until_they_are_warmed(files: FileDisk) -> None:
    file = await cold_file(files)
    if not can_evict(file):
        assert file.is_hot(0, MEGABYTE)
        file.close()
        return
    # Asking may make the kernel read ahead, so the first answer is the only sure one.
    assert not file.is_hot(0, MEGABYTE)
    is_hot = False
    for _ in range(10):  # the kernel may take pages back at any moment
        await file.warm(0, MEGABYTE)
        is_hot = is_hot or file.is_hot(0, MEGABYTE)
    assert is_hot
    file.close()


async def test_the_tail_is_hot_although_the_beginning_is_cold(files: FileDisk) -> None:
    file = await cold_file(files)
    file.append([bytes(1000)])
    assert file.is_hot(MEGABYTE, 1000)
    if can_evict(file):
        assert not file.is_hot(MEGABYTE // 2 - 1, MEGABYTE // 2)
    file.close()


async def test_nothing_half_written_stays_when_the_disk_refuses(files: FileDisk) -> None:
    """The size limit of the process makes the kernel write a part and then refuse the rest."""
    file = await files.create("a.log")
    file.append([b"a" * 1000])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.append([b"b" * 3000, b"c" * 3000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.size == 1000
    assert os.fstat(file.fileno()).st_size == 1000
    assert file.append([b"d"]) == 1000
    assert file.pread(2000, 0) == b"a" * 1000 + b"d"
    file.close()


async def test_a_closed_file_gives_its_descriptor_back(files: FileDisk, tmp_path: Path) -> None:
    file = await files.create("a.log")
    assert open_below(tmp_path) == 1
    file.close()
    assert open_below(tmp_path) == 0
    file.close()


async def test_the_last_slice_closes_a_closed_file(files: FileDisk, tmp_path: Path) -> None:
    file = await files.create("a.log")
    file.append([b"abc"])
    piece = file.slice(0, 3)
    file.close()
    del file
    assert piece.read() == b"abc"
    assert open_below(tmp_path) == 1
    del piece
    await settle(tmp_path)


async def test_a_file_that_nobody_holds_is_closed(files: FileDisk, tmp_path: Path) -> None:
    await files.create("a.log")
    await settle(tmp_path)


async def test_a_sync_under_way_keeps_the_descriptor_although_the_file_is_closed(
    files: FileDisk,
) -> None:
    """Otherwise another file might get its number, and be synced in its place."""
    file = await files.create("a.log")
    file.append([bytes(4 * MEGABYTE)])
    syncing = asyncio.create_task(file.fdatasync())
    await asyncio.sleep(0)
    file.close()
    await syncing


async def test_a_replacement_that_fails_leaves_the_old_content_and_no_litter(
    files: FileDisk, tmp_path: Path
) -> None:
    await files.replace("checkpoint", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            await files.replace("checkpoint", bytes(100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await files.read("checkpoint") == b"old"
    assert await files.list("") == ["checkpoint"]


async def test_a_missing_root_is_made_with_the_first_directory(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path / "not" / "there"))
    await disk.make_directory("t-0")
    assert await disk.list("") == ["t-0"]
    await disk.close()
