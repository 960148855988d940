"""Which log is compacted when, and what the checkpoint says afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.checkpoints import CLEANER
from broker.log.cleaner import Cleaner
from broker.log.compaction_choice import find_dirt, group
from broker.log.log import Log
from tests.unit.broker.log.builders import NOW_MS, Clock, open_log
from tests.unit.broker.log.compacting import COMPACT, pairs, settle, write


async def dirty_log(
    disk: Disk, name: str, *, count: int, clock: Clock | None = None, config: LogConfig = COMPACT
) -> Log:
    log = await open_log(disk, directory=name, config=config, clock=clock)
    for number in range(count):
        write(log, (b"k", b"%d" % number))
    await settle(log)
    return log


async def test_the_dirtiest_log_is_compacted_first(memory: MemoryDisk) -> None:
    cleaner = Cleaner(memory)
    first = await dirty_log(memory, "a-0", count=3)
    second = await dirty_log(memory, "b-0", count=3)
    await cleaner.compact_the_dirtiest([first])
    for number in range(30):
        write(first, (b"k%d" % number, b"x"))
    await settle(first)
    assert await cleaner.compact_the_dirtiest([first, second]) is not None
    assert await pairs(second) == [(b"k", b"2")]
    assert len(first.segments) == 3
    assert await cleaner.compact_the_dirtiest([first, second]) is not None
    assert len(first.segments) == 2
    assert await cleaner.compact_the_dirtiest([first, second]) is None
    for log in (first, second):
        await log.close()


async def test_a_little_dirt_is_not_worth_it_until_it_is_overdue(memory: MemoryDisk) -> None:
    clock = Clock()
    config = replace(COMPACT, max_compaction_lag_ms=1000)
    log = await dirty_log(memory, "a-0", count=1, clock=clock, config=config)
    for number in range(20):
        write(log, (b"k%d" % number, b"x" * 100))
    await settle(log)
    cleaner = Cleaner(memory)
    assert await cleaner.compact_the_dirtiest([log]) is not None
    write(log, (b"k1", b"y"))
    await settle(log)
    clock.time_ms += 1000
    assert await cleaner.compact_the_dirtiest([log]) is None
    clock.time_ms += 1
    assert await cleaner.compact_the_dirtiest([log]) is not None
    await log.close()


async def test_young_segments_wait_for_the_minimal_lag(memory: MemoryDisk) -> None:
    clock = Clock()
    config = replace(COMPACT, min_compaction_lag_ms=1000)
    log = await dirty_log(memory, "a-0", count=2, clock=clock, config=config)
    clock.time_ms += 999
    assert find_dirt(log, 0, clock.time_ms).dirty_bytes == 0
    clock.time_ms += 1
    assert find_dirt(log, 0, clock.time_ms).dirty_bytes == log.segments[0].size
    await log.close()


async def test_topics_that_are_not_compacted_and_offline_logs_are_left_alone(
    memory: MemoryDisk,
) -> None:
    config = replace(COMPACT, cleanup_compact=False, cleanup_delete=True)
    plain = await dirty_log(memory, "a-0", count=3, config=config)
    offline = await dirty_log(memory, "b-0", count=3)
    offline.failure = OSError("broken")
    assert await Cleaner(memory).compact_the_dirtiest([plain, offline]) is None
    for log in (plain, offline):
        await log.close()


async def test_the_checkpoint_survives_a_restart(disk: Disk) -> None:
    cleaner = Cleaner(disk)
    log = await dirty_log(disk, "a-0", count=3)
    await cleaner.compact_the_dirtiest([log])
    again = Cleaner(disk)
    await again.load()
    assert again.cleaned_to(log) == 3
    assert await again.compact_the_dirtiest([log]) is None
    again.forget("a", 0)
    assert again.cleaned_to(log) == 0
    await log.close()


async def test_a_damaged_checkpoint_makes_everything_dirty(memory: MemoryDisk) -> None:
    await memory.replace(CLEANER, b"nonsense")
    cleaner = Cleaner(memory)
    await cleaner.load()
    log = await dirty_log(memory, "a-0", count=3)
    assert await cleaner.compact_the_dirtiest([log]) is not None
    await log.close()


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_truncation_lowers_the_checkpoint(memory: MemoryDisk, restarts: bool) -> None:
    cleaner = Cleaner(memory)
    log = await dirty_log(memory, "a-0", count=1)
    for number in range(9):
        write(log, (b"%d" % number, b"x"))
        await log.roll()
    await settle(log)
    await cleaner.compact_the_dirtiest([log])
    assert cleaner.cleaned_to(log) == 10

    async def save() -> None:
        await cleaner.save([log])

    log.save_offsets = save
    await log.truncate_to(4)
    # The log grows past the old checkpoint again, with other records.
    for number in range(10):
        write(log, (b"same", b"%d" % number))
    await settle(log)
    if restarts:
        memory.power_loss()
        log = await open_log(memory, directory="a-0", config=COMPACT)
        log.advance_high_watermark(log.end_offset)
        cleaner = Cleaner(memory)
        await cleaner.load()
    assert cleaner.cleaned_to(log) <= 4
    assert await cleaner.compact_the_dirtiest([log]) is not None
    assert [pair for pair in await pairs(log) if pair[0] == b"same"] == [(b"same", b"9")]
    await log.close()


async def test_a_checkpoint_beyond_the_end_counts_for_nothing(memory: MemoryDisk) -> None:
    log = await dirty_log(memory, "a-0", count=3)
    assert find_dirt(log, 1000, NOW_MS).first_dirty == 0
    assert find_dirt(log, 1000, NOW_MS).dirty_bytes > 0
    assert find_dirt(log, 3, NOW_MS).dirty_bytes == 0
    await log.close()


async def test_a_log_with_a_damaged_segment_is_named_and_left_alone(memory: MemoryDisk) -> None:
    log = await dirty_log(memory, "a-0", count=3)
    file = log.segments[0].file
    content = bytearray(file.pread(file.size, 0))
    content[-1] ^= 1
    file.truncate(0)
    file.append([content])
    cleaner = Cleaner(memory)
    assert await cleaner.compact_the_dirtiest([log]) is None
    assert list(cleaner.uncleanable) == [("a", 0)]
    assert await cleaner.compact_the_dirtiest([log]) is None
    assert log.failure is None
    await log.close()


async def test_neighbours_are_grouped_up_to_the_size_of_a_segment(memory: MemoryDisk) -> None:
    log = await open_log(memory, config=COMPACT)
    for _ in range(6):
        write(log, (b"k", b"x" * 100))
        await log.roll()
    segments = log.segments[:-1]
    size = segments[0].size
    assert [len(g) for g in group(segments, 3 * size, 1000)] == [3, 3]
    assert [len(g) for g in group(segments, 3 * size - 1, 1000)] == [2, 2, 2]
    assert [len(g) for g in group(segments, 1, 1000)] == [1] * 6
    assert [len(g) for g in group(segments, 100 * size, 4)] == [4, 2]
    assert [s for g in group(segments, 3 * size, 1000) for s in g] == list(segments)
    await log.close()


async def test_an_active_segment_is_rolled_when_it_is_overdue(memory: MemoryDisk) -> None:
    clock = Clock()
    config = replace(COMPACT, max_compaction_lag_ms=1000)
    log = await open_log(memory, directory="a-0", config=config, clock=clock)
    for number in range(3):
        write(log, (b"k", b"%d" % number))
    log.advance_high_watermark(log.end_offset)
    cleaner = Cleaner(memory)
    clock.time_ms += 1000
    assert await cleaner.compact_the_dirtiest([log]) is None
    assert len(log.segments) == 1
    clock.time_ms += 1
    await cleaner.compact_the_dirtiest([log])
    await log.settle()
    assert await cleaner.compact_the_dirtiest([log]) is not None
    assert await pairs(log) == [(b"k", b"2")]
    await log.close()
