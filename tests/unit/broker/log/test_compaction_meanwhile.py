"""What goes on while a log is compacted: reads, truncations, failing disks."""

from __future__ import annotations

import asyncio

import pytest

from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.compaction import compact
from broker.log.compaction_choice import find_dirt
from broker.protocol.batch import CorruptBatchError
from tests.unit.broker.log.builders import (
    NOW_MS,
    read_slice,
)
from tests.unit.broker.log.compacting import (
    after_crash,
    compact_now,
    open_compacted,
    pairs,
    settle,
    write,
)


@pytest.mark.parametrize("moment", [("create", ".log.cleaned"), ("fdatasync", ".log.cleaned")])
@pytest.mark.parametrize("cut_at", [3, 5])
async def test_what_is_truncated_during_a_compaction_does_not_come_back(
    memory: MemoryDisk, moment: tuple[str, str], cut_at: int
) -> None:
    log = await open_compacted(memory)
    for number in range(6):
        write(log, (b"k%d" % (number % 2), b"%d" % number))
        if number != 4:
            await log.roll()
    await settle(log)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        if operation == moment[0] and path.endswith(moment[1]):
            reached.set()
            await go_on.wait()

    memory.before = hold
    compacting = asyncio.create_task(compact_now(log))
    await reached.wait()
    memory.before = None
    await log.truncate_to(cut_at)
    # Refilled to the same size and sealed again: looking at sizes would not show it.
    for _ in range(cut_at, 6):
        write(log, (b"k1", b"N"))
    await settle(log)
    go_on.set()
    result = await compacting
    assert not result.is_complete
    expected = [b"%d" % number for number in range(cut_at)] + [b"N"] * (6 - cut_at)
    assert [value for _, value in await pairs(log)] == expected
    names = await memory.list(log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
    await log.close()


async def test_a_truncation_waits_for_a_swap_that_has_begun(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    for number in range(6):
        write(log, (b"k", b"%d" % number))
        await log.roll()
    await settle(log)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        if operation == "rename" and not reached.is_set():
            reached.set()
            await go_on.wait()

    memory.before = hold
    compacting = asyncio.create_task(compact_now(log))
    await reached.wait()
    truncating = asyncio.create_task(log.truncate_to(3))
    await asyncio.sleep(0)
    assert not truncating.done()
    go_on.set()
    assert (await compacting).is_complete
    await truncating
    assert log.end_offset <= 3
    assert await pairs(log) == []
    log = await after_crash(log)
    assert await pairs(log) == []
    await log.close()


async def test_a_cancelled_compaction_finishes_a_swap_that_has_begun(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"))
    await settle(log)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        if operation == "rename" and not reached.is_set():
            reached.set()
            await go_on.wait()

    memory.before = hold
    compacting = asyncio.create_task(compact_now(log))
    await reached.wait()
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    go_on.set()
    async with log.changing:
        assert await pairs(log) == [(b"k", b"2")]
    await log.close()


async def test_a_slice_taken_before_a_compaction_can_still_be_sent(disk: Disk) -> None:
    log = await open_compacted(disk)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"))
    await settle(log)
    piece = await read_slice(log, 0)
    assert piece is not None
    before = piece.read()
    await compact_now(log)
    assert piece.read() == before
    await log.close()


async def test_cold_segments_are_compacted_without_stopping_the_loop(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    for number in range(5):
        write(log, (b"k", b"%d" % number * 30_000))
        await log.roll()
    await settle(log)
    memory.chill()
    await compact_now(log)
    assert memory.blocking_reads == 0
    await log.close()


async def test_the_loop_gets_its_turn_inside_a_large_batch(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, *((b"key %d" % (number % 50), b"v") for number in range(20_000)))
    await settle(log)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await compact(log, find_dirt(log, 0, NOW_MS), breather=Breather(slice_ms=0))
    counting.cancel()
    assert turns > 100
    assert len(await pairs(log)) == 50
    await log.close()


async def test_a_damaged_segment_is_not_compacted_and_not_touched(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"))
    await settle(log)
    path = log.segments[0].path(".log")
    content = bytearray(await memory.read(path))
    content[-1] ^= 1
    file = log.segments[0].file
    file.truncate(0)
    file.append([content])
    with pytest.raises(CorruptBatchError):
        await compact_now(log)
    assert await memory.read(path) == content
    assert not [n for n in await memory.list(log.directory) if n.endswith(".cleaned")]
    await log.close()


async def test_a_full_disk_stops_the_compaction_but_not_the_log(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1" * 1000))
    write(log, (b"j", b"2" * 1000))
    await settle(log)
    memory.capacity_bytes = 3000
    with pytest.raises(OSError, match="No space left"):
        await compact_now(log)
    assert log.failure is None
    assert not [n for n in await memory.list(log.directory) if n.endswith(".cleaned")]
    memory.capacity_bytes = None
    assert (await compact_now(log)).is_complete
    await log.close()
