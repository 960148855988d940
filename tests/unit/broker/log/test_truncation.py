"""Cut off means gone: from files, indexes, epochs and producers."""

from __future__ import annotations

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log.log import Log
from tests.unit.broker.log.builders import (
    append,
    append_rolling,
    batch,
    crashed,
    open_log,
    values,
)

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=50)


async def twenty(disk: Disk) -> Log:
    log = await open_log(disk, config=SMALL)
    for number in range(20):
        await append_rolling(log, batch(b"%d" % number, producer_id=1, sequence=number))
    return log


@pytest.mark.parametrize("offset", [0, 1, 2, 7, 13, 19, 20, 25])
async def test_all_from_an_offset_on_is_gone_and_stays_gone(disk: Disk, offset: int) -> None:
    log = await twenty(disk)
    await log.truncate_to(offset)
    kept = min(offset, 20)
    assert await values(log) == [b"%d" % number for number in range(kept)]
    assert log.end_offset == kept
    log = await crashed(log)
    assert await values(log) == [b"%d" % number for number in range(kept)]
    answer = append(log, batch(producer_id=1, sequence=kept))
    assert (answer.base_offset, answer.duplicate) == (kept, False)
    await log.close()


async def test_a_batch_that_reaches_over_the_cut_goes_with_it(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a"))
    append(log, batch(b"b", b"c", b"d"))
    await log.truncate_to(3)
    assert log.end_offset == 1
    assert await values(log) == [b"a"]
    await log.close()


async def test_nothing_is_called_synced_that_the_cut_took_along(disk: Disk) -> None:
    """Or what is written there next would not be looked at after a crash."""
    log = await open_log(disk)
    saved: list[int] = []

    async def save() -> None:
        saved.append(log.recovery_point)

    log.save_offsets = save
    append(log, batch(b"a"))
    append(log, batch(b"b", b"c", b"d"))
    await log.flush()
    await log.truncate_to(3)
    assert log.end_offset == log.recovery_point == 1
    assert saved == [3, 1]
    await log.close()


async def test_the_high_watermark_and_epochs_follow(disk: Disk) -> None:
    log = await open_log(disk)
    for epoch in range(3):
        append(log, batch(), leader_epoch=epoch)
    log.advance_high_watermark(3)
    await log.truncate_to(1)
    assert log.high_watermark == 1
    assert log.end_offset_for_epoch(0) == (0, 1)
    assert log.end_offset_for_epoch(2) == (-1, -1)
    await log.close()


async def test_an_epoch_that_wrote_nothing_goes_without_any_record(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a"), leader_epoch=3)
    await log.assign_leader_epoch(5)
    await log.truncate_to(1)
    assert log.epochs.latest == 3
    append(log, batch(b"b"), leader_epoch=4)
    log = await crashed(log)
    assert log.end_offset_for_epoch(4) == (4, 2)
    assert await values(log) == [b"a", b"b"]
    await log.close()


async def test_a_log_may_begin_anew_elsewhere(disk: Disk) -> None:
    log = await twenty(disk)
    await log.truncate_fully_and_start_at(100)
    assert (log.start_offset, log.high_watermark, log.end_offset) == (100, 100, 100)
    assert append(log, batch(producer_id=1, sequence=77)).base_offset == 100
    log = await crashed(log)
    assert (log.start_offset, log.end_offset) == (100, 101)
    await log.close()


async def test_the_largest_timestamp_is_found_again(disk: Disk) -> None:
    log = await open_log(disk, config=LogConfig(index_interval_bytes=10_000))
    for time_ms in (10, 30, 20, 50):
        append(log, batch(time_ms=time_ms))
    await log.truncate_to(3)
    assert log.active.largest_timestamp == 30
    assert log.active.offset_of_largest_timestamp == 1
    await log.close()
