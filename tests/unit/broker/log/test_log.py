"""A log as a whole: what goes in comes out, on both disks."""

from __future__ import annotations

from random import Random

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log.log import Log, parse_directory
from broker.protocol.compression import Codec
from tests.unit.broker.log.builders import (
    NOW_MS,
    Clock,
    append,
    append_rolling,
    batch,
    crashed,
    open_log,
    read_all,
    reopened,
    values,
)

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


@pytest.mark.parametrize("codec", list(Codec))
async def test_batches_come_out_as_they_went_in(disk: Disk, codec: Codec) -> None:
    log = await open_log(disk)
    sent = [bytes(batch(b"a", b"b", codec=codec)), bytes(batch(b"c", codec=codec))]
    answers = [append(log, memoryview(bytearray(records))) for records in sent]
    assert [answer.base_offset for answer in answers] == [0, 2]
    assert [answer.last_offset for answer in answers] == [1, 2]
    found = await read_all(log)
    # All but the offset and the leader epoch, which the log writes.
    assert [data[16:] for _, data in found] == [records[16:] for records in sent]
    assert [header.base_offset for header, _ in found] == [0, 2]
    assert await values(log) == [b"a", b"b", b"c"]
    await log.close()


async def test_a_clean_stop_and_start_changes_nothing(disk: Disk) -> None:
    log = await open_log(disk, config=SMALL)
    for number in range(30):
        await append_rolling(log, batch(b"%d" % number))
    await log.close()
    before = [(s.base_offset, s.end_offset, s.size) for s in log.segments]
    indexes = [(s.offsets.entries(), s.times.entries()) for s in log.segments]
    log = await reopened(log)
    assert [(s.base_offset, s.end_offset, s.size) for s in log.segments] == before
    assert [(s.offsets.entries(), s.times.entries()) for s in log.segments] == indexes
    assert await values(log) == [b"%d" % number for number in range(30)]
    assert log.recovery_point == log.end_offset == 30
    await log.close()


async def test_after_a_crash_of_the_process_all_that_was_appended_is_there(disk: Disk) -> None:
    log = await open_log(disk, config=SMALL)
    for number in range(30):
        await append_rolling(log, batch(b"%d" % number))
    log = await crashed(log)
    assert await values(log) == [b"%d" % number for number in range(30)]
    assert append(log, batch()).base_offset == 30
    await log.close()


async def test_segments_are_rolled_by_size_and_read_across(disk: Disk) -> None:
    log = await open_log(disk, config=SMALL)
    for number in range(20):
        await append_rolling(log, batch(b"%d" % number))
    assert len(log.segments) > 3
    assert all(segment.size <= 400 for segment in log.segments)
    assert await values(log) == [b"%d" % number for number in range(20)]
    await log.close()


async def test_a_segment_is_rolled_when_it_is_old(disk: Disk) -> None:
    clock = Clock()
    log = await open_log(disk, clock=clock, config=LogConfig(segment_ms=1000))
    append(log, batch())
    clock.time_ms += 1000
    assert log.can_append(100)
    clock.time_ms += 1
    assert not log.can_append(100)
    await log.roll()
    assert log.can_append(100)
    clock.time_ms += 5000
    assert log.can_append(100), "an empty segment does not age"
    await log.close()


async def test_jitter_makes_a_segment_old_earlier(disk: Disk) -> None:
    clock = Clock()
    config = LogConfig(segment_ms=1000, segment_jitter_ms=900)
    log = await open_log(disk, clock=clock, config=config, random=Random(5))
    append(log, batch())
    clock.time_ms += 1000
    assert not log.can_append(100)
    await log.close()


async def test_a_segment_is_rolled_when_its_index_is_full(disk: Disk) -> None:
    log = await open_log(disk, config=LogConfig(segment_index_bytes=48, index_interval_bytes=0))
    for _ in range(7):  # the first batch needs no entry, six entries fit
        assert log.can_append(100)
        append(log, batch())
    assert not log.can_append(100)
    await log.close()


async def test_a_segment_never_holds_more_offsets_than_an_index_can_name(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch())
    log.end_offset = log.active.end_offset = 2**31 - 100
    assert not log.can_append(100)
    log.end_offset = log.active.end_offset = 2**30
    assert log.can_append(100)
    log.abandon()


async def test_the_high_watermark_never_goes_back_nor_beyond_the_end(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a", b"b"))
    log.advance_high_watermark(7)
    assert log.high_watermark == 2
    log.advance_high_watermark(1)
    assert log.high_watermark == 2
    await log.close()


async def test_log_append_time_replaces_the_producers_timestamps(disk: Disk) -> None:
    clock = Clock(NOW_MS + 77)
    log = await open_log(
        disk, clock=clock, config=LogConfig(message_timestamp_type="LogAppendTime")
    )
    answer = append(log, batch(b"a", b"b", time_ms=5))
    assert answer.log_append_time_ms == NOW_MS + 77
    log = await crashed(log)
    ((header, _),) = await read_all(log)
    assert header.max_timestamp == NOW_MS + 77
    assert header.timestamp_type == 1
    await log.close()


async def test_appends_wait_until_a_roll_is_done(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch())
    with log.no_appends():
        assert not log.can_append(1)
        with pytest.raises(RuntimeError):
            append(log, batch())
    await log.close()


def test_a_directory_is_named_after_topic_and_partition() -> None:
    assert parse_directory("a-b-12") == ("a-b", 12)
    assert parse_directory("orders") is None
    assert parse_directory("-1") is None
    assert parse_directory("orders-0.abc-delete") is None


async def test_an_epoch_that_is_over_cannot_append(disk: Disk) -> None:
    log: Log = await open_log(disk)
    append(log, batch(), leader_epoch=4)
    with pytest.raises(Exception, match="epoch 3 is over"):
        append(log, batch(), leader_epoch=3)
    assert log.end_offset == 1
    await log.close()
