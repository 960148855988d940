"""What a log forgets, and what it must not."""

from __future__ import annotations

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log.log import Log
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import (
    NOW_MS,
    Clock,
    append,
    append_rolling,
    batch,
    crashed,
    open_log,
    values,
)

SIZE = len(batch(b"x"))


async def segments_of_two(disk: Disk, clock: Clock, config: LogConfig) -> Log:
    """Offsets 0 to 9 in five segments; each record one second younger than the one before."""
    log = await open_log(disk, clock=clock, config=config)
    for number in range(10):
        await append_rolling(log, batch(b"x", time_ms=NOW_MS - 10_000 + number * 1000))
    assert len(log.segments) == 5
    log.advance_high_watermark(10)
    return log


async def test_old_segments_go_by_their_youngest_record(disk: Disk) -> None:
    config = LogConfig(segment_bytes=2 * SIZE, retention_ms=6500)
    log = await segments_of_two(disk, Clock(), config)
    assert await log.apply_retention() == 2
    assert log.start_offset == 4
    assert await log.apply_retention() == 0
    log = await crashed(log)
    assert log.start_offset == 4
    await log.close()


async def test_everything_goes_when_everything_is_old_and_offsets_go_on(disk: Disk) -> None:
    clock = Clock()
    config = LogConfig(segment_bytes=2 * SIZE, retention_ms=6500)
    log = await segments_of_two(disk, clock, config)
    clock.time_ms += 100_000
    await log.apply_retention()
    assert (log.start_offset, log.end_offset, log.size_bytes) == (10, 10, 0)
    assert append(log, batch(time_ms=clock.time_ms)).base_offset == 10
    await log.close()


async def test_the_oldest_segments_go_when_there_is_too_much(disk: Disk) -> None:
    config = LogConfig(segment_bytes=2 * SIZE, retention_bytes=5 * SIZE)
    log = await segments_of_two(disk, Clock(), config)
    assert await log.apply_retention() == 2
    assert log.size_bytes == 6 * SIZE, "never less than was asked for"
    await log.close()


async def test_nothing_goes_beyond_the_high_watermark(disk: Disk) -> None:
    clock = Clock()
    log = await open_log(
        disk, clock=clock, config=LogConfig(segment_bytes=2 * SIZE, retention_ms=1)
    )
    for _ in range(10):
        await append_rolling(log, batch(b"x"))
    log.advance_high_watermark(5)
    clock.time_ms += 100_000
    assert await log.apply_retention() == 2
    assert log.start_offset == 4
    await log.close()


async def test_a_compacted_topic_forgets_nothing_by_age(disk: Disk) -> None:
    config = LogConfig(
        segment_bytes=2 * SIZE, retention_ms=1, cleanup_delete=False, cleanup_compact=True
    )
    log = await segments_of_two(disk, Clock(), config)
    assert await log.apply_retention() == 0
    await log.close()


async def test_deleted_records_are_gone_at_once_and_whole_segments_with_them(disk: Disk) -> None:
    log = await segments_of_two(disk, Clock(), LogConfig(segment_bytes=2 * SIZE))
    assert await log.delete_records(5) == 5
    assert [segment.base_offset for segment in log.segments] == [4, 6, 8]
    with pytest.raises(KafkaError):
        log.read(4, 100, up_to=10, at_least_one=True)
    assert await log.delete_records(3) == 5, "the start never goes back"
    assert await log.delete_records(-1) == 10
    assert await values(log) == []
    await log.close()


async def test_records_above_the_high_watermark_cannot_be_deleted(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a", b"b"))
    log.advance_high_watermark(1)
    with pytest.raises(KafkaError) as refused:
        await log.delete_records(2)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    await log.close()


async def test_a_producer_is_remembered_after_its_records_are_gone(disk: Disk) -> None:
    clock = Clock()
    log = await open_log(disk, clock=clock, config=LogConfig(segment_bytes=2 * SIZE))
    append(log, batch(b"x", producer_id=1, sequence=0))
    for _ in range(6):
        await append_rolling(log, batch(b"x"))
    log.advance_high_watermark(7)
    await log.delete_records(6)
    log = await crashed(log)
    answer = append(log, batch(b"x", producer_id=1, sequence=0))
    assert (answer.base_offset, answer.duplicate) == (0, True)
    await log.close()
