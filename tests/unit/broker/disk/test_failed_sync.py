"""A sync that fails: the cache shows bytes that the device will never get by itself."""

from __future__ import annotations

import asyncio

import pytest

from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk


async def test_a_later_sync_does_not_bring_back_what_a_failed_one_gave_up(
    memory: MemoryDisk,
) -> None:
    file = await memory.create("a.log")
    file.append([b"safe"])
    await file.fdatasync()
    file.append([b"gone"])
    memory.fail("fdatasync", times=1)
    with pytest.raises(OSError, match="Input/output error"):
        await file.fdatasync()
    file.append([b"more"])
    await file.fdatasync()
    assert file.pread(100, 0) == b"safegonemore"
    memory.power_loss()
    assert await memory.read("a.log") == b"safe\0\0\0\0more"


async def test_bytes_that_are_written_again_are_taken_by_the_next_sync(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"gone"])
    memory.fail("fdatasync", times=1)
    with pytest.raises(OSError, match="Input/output error"):
        await file.fdatasync()
    await file.write_again(0, 4)
    await file.fdatasync()
    memory.power_loss()
    assert await memory.read("a.log") == b"gone"


async def test_bytes_that_are_written_again_need_a_sync(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"safe"])
    await file.fdatasync()
    file.append([b"gone"])
    memory.fail("fdatasync", times=1)
    with pytest.raises(OSError, match="Input/output error"):
        await file.fdatasync()
    file.append([b"more"])
    await file.fdatasync()
    await file.write_again(0, 12)
    memory.power_loss()
    assert await memory.read("a.log") == b"safe\0\0\0\0more"


async def test_writing_again_changes_nothing_that_can_be_read(disk: Disk) -> None:
    file = await disk.create("a.log")
    content = bytes(range(256)) * 3000
    file.append([content])
    await file.write_again(1000, len(content))
    await file.fdatasync()
    assert file.size == len(content)
    assert file.pread(len(content), 0) == content
    file.close()


async def test_what_is_appended_while_a_sync_waits_is_not_synced_by_it(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"one"])
    memory.slow("fdatasync", seconds=0.01)
    sync = asyncio.create_task(file.fdatasync())
    await asyncio.sleep(0)
    file.append([b"two"])
    await sync
    memory.power_loss()
    assert await memory.read("a.log") == b"one"


async def test_a_sync_of_a_closed_file_gives_nothing_up(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    again = await memory.open("a.log")
    file.append([b"kept"])
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        await file.fdatasync()
    await again.fdatasync()
    memory.power_loss()
    assert await memory.read("a.log") == b"kept"
