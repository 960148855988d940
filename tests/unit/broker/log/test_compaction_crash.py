"""A crash at any moment of a compaction changes nothing that a reader can see."""

from __future__ import annotations

from random import Random

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.log import Log
from tests.unit.broker.log.builders import Clock, open_log
from tests.unit.broker.log.compacting import (
    COMPACT,
    DAY_MS,
    after_crash,
    compact_now,
    end,
    headers,
    open_compacted,
    settle,
    state,
    write,
)


class Crash(BaseException):
    """Not an Exception: nothing may catch it."""


class CrashAt:
    """The machine stops at the n-th point, and stays stopped."""

    def __init__(self, number: int) -> None:
        self.left = number

    async def __call__(self, operation: str, path: str) -> None:
        if self.left == 0:
            raise Crash
        self.left -= 1


async def prepared(disk: MemoryDisk) -> Log:
    """Two groups, tombstones, transactions, and dirt behind a clean part."""
    clock = Clock()
    log = await open_compacted(disk, clock)
    for number in range(12):
        write(log, (b"k%d" % (number % 5), b"%d" % number), (b"t", None))
        if number % 3 == 2:
            await log.roll()
    write(log, (b"k1", b"aborted"), producer_id=1, sequence=0, transactional=True)
    await log.roll()
    end(log, 1, committed=False)
    write(log, (b"k2", b"committed"), producer_id=2, sequence=0, transactional=True)
    end(log, 2, committed=True)
    await settle(log)
    clock.time_ms += 2 * DAY_MS
    return log


async def points_of_a_compaction() -> int:
    disk = MemoryDisk()
    log = await prepared(disk)
    counter = CrashAt(-1)
    disk.before = counter
    await compact_now(log)
    return -1 - counter.left


@pytest.mark.parametrize("power", ["kept", "lost", "random"])
async def test_a_crash_at_any_point_leaves_the_same_table(power: str) -> None:
    points = await points_of_a_compaction()
    assert points > 20
    for point in range(points + 1):
        disk = MemoryDisk()
        log = await prepared(disk)
        expected, end_offset = await state(log), log.end_offset
        disk.before = CrashAt(point)
        if point < points:
            with pytest.raises(Crash):
                await compact_now(log)
        else:
            await compact_now(log)
        disk.before = None
        if power == "kept":
            disk.process_crash()
        else:
            disk.power_loss(Random(point) if power == "random" else None)
        log = await after_crash(log)
        assert await state(log) == expected, f"crashed at point {point}"
        assert log.end_offset == end_offset, f"crashed at point {point}"
        assert log.last_stable_offset == end_offset, f"crashed at point {point}"
        names = await disk.list(log.directory)
        assert not [name for name in names if name.endswith((".cleaned", ".swap", ".tmp"))]
        await settle(log)
        await compact_now(log)
        assert await state(log) == expected, f"compacted after a crash at point {point}"
        offsets = [header.base_offset for header in await headers(log)]
        assert offsets == sorted(set(offsets))
        await log.close()


async def test_a_crash_while_a_swap_is_finished_leaves_the_same_table() -> None:
    """Recovery itself may be interrupted, again and again."""
    points = await points_of_a_compaction()
    for seed in range(6):
        random = Random(seed)
        disk = MemoryDisk()
        log = await prepared(disk)
        expected = await state(log)
        disk.before = CrashAt(random.randint(points // 2, points - 1))
        with pytest.raises(Crash):
            await compact_now(log)
        for _ in range(5):
            disk.power_loss(random)
            disk.before = CrashAt(random.randint(0, 12))
            try:
                await after_crash(log)
            except Crash:
                continue
        disk.before = None
        disk.power_loss(random)
        log = await after_crash(log)
        assert await state(log) == expected, f"seed {seed}"
        await log.close()


async def test_an_error_in_the_middle_of_a_swap_takes_the_log_offline_until_it_is_reopened() -> (
    None
):
    disk = MemoryDisk()
    log = await prepared(disk)
    expected = await state(log)
    disk.fail("rename", times=1)
    with pytest.raises(Exception, match="Input/output error"):
        await compact_now(log)
    assert log.failure is not None
    log = await after_crash(log)
    assert await state(log) == expected
    await log.close()


@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_marker_for_which_records_went_survives_a_power_loss(is_committed: bool) -> None:
    disk = MemoryDisk()
    log = await open_compacted(disk)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"), producer_id=1, sequence=0, transactional=True)
    await log.roll()
    await log.flush()
    end(log, 1, committed=is_committed)  # not synced by anybody yet
    log.advance_high_watermark(log.end_offset)
    await compact_now(log)
    disk.power_loss()
    log = await after_crash(log)
    assert log.last_stable_offset == log.end_offset == 3
    assert await state(log) == {b"k": b"2" if is_committed else b"1"}
    await log.close()


async def test_a_producer_whose_batch_went_is_still_known_after_a_power_loss() -> None:
    disk = MemoryDisk()
    log = await open_compacted(disk)
    write(log, (b"k", b"1"), producer_id=1, sequence=0)
    write(log, (b"k", b"2"))
    await log.roll()
    await log.flush()
    write(log, (b"j", b"3"), producer_id=1, sequence=1)  # not synced by anybody yet
    log.advance_high_watermark(log.end_offset)
    await compact_now(log)
    disk.power_loss()
    log.abandon()
    # A checkpoint may be older than the pass: then everything is read again.
    log = await open_log(disk, config=COMPACT, recovery_point=0)
    assert log.producers.producers[1].last_sequence == 1
    await log.close()
