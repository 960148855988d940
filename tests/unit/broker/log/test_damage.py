"""Files that lost something while nobody looked: what is told, what is kept, what readers hear."""

from __future__ import annotations

import logging

import pytest

from broker.config.topic import LogConfig
from broker.disk.memory import MemoryDisk
from broker.log.compaction_choice import find_dirt
from broker.log.log import Log
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import (
    NOW_MS,
    append,
    append_rolling,
    batch,
    crashed,
    open_log,
    read_slice,
    reopened,
    values,
)

CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=100)
COUNT = 60


async def stopped(memory: MemoryDisk, config: LogConfig = CONFIG) -> Log:
    log = await open_log(memory, config=config)
    for number in range(COUNT):
        await append_rolling(log, batch(b"%03d" % number))
    assert len(log.segments) > 4
    await log.close()
    return log


async def cut(memory: MemoryDisk, path: str, size: int) -> None:
    content = await memory.read(path)
    await memory.replace(path, content[:-size])


async def spoil(memory: MemoryDisk, path: str, position: int) -> None:
    content = bytearray(await memory.read(path))
    content[position] ^= 1
    await memory.replace(path, bytes(content))


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= level]


async def code_of_read(log: Log, offset: int) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        await read_slice(log, offset)
    return refused.value.code


@pytest.mark.parametrize("missing", [1, 77, 200])
async def test_a_short_last_segment_after_a_clean_stop_keeps_its_whole_batches(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture, missing: int
) -> None:
    before = await stopped(memory)
    await cut(memory, before.active.path(".log"), missing)
    log = await reopened(before)
    lost = -(-missing // 80)
    assert 0 < COUNT - log.end_offset <= lost + 1
    assert log.end_offset > log.active.base_offset
    kept = log.end_offset
    assert append(log, batch(b"new")).base_offset == kept
    assert await values(log) == [b"%03d" % number for number in range(kept)] + [b"new"]
    [told] = lines(caplog, logging.ERROR)
    assert f"orders-0: cut off at offset {kept}" in told
    await log.close()


async def test_a_zeroed_last_segment_ends_the_log_at_its_base_and_is_told(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    before = await stopped(memory)
    await memory.replace(before.active.path(".log"), bytes(before.active.size))
    log = await reopened(before)
    assert log.end_offset == before.active.base_offset
    assert len(lines(caplog, logging.ERROR)) == 1
    await log.close()


async def test_a_torn_tail_after_a_crash_is_told_with_its_offset_bytes_and_reason(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    before = await open_log(memory, config=CONFIG)
    for number in range(COUNT):
        await append_rolling(before, batch(b"%03d" % number))
    before.abandon()
    await cut(memory, before.active.path(".log"), 10)
    log = await crashed(before)
    [told] = lines(caplog)
    assert f"cut off at offset {COUNT - 1}" in told
    assert "torn" in told
    assert "bytes deleted: " in told
    await log.close()


async def test_a_crash_that_tore_nothing_tells_nothing(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    log = await open_log(memory, config=CONFIG)
    for number in range(COUNT):
        await append_rolling(log, batch(b"%03d" % number))
    log = await reopened(await crashed(log), was_clean=False)
    await log.close()
    await (await reopened(log)).close()
    assert lines(caplog) == []


@pytest.mark.parametrize("is_index_lost", [False, True])
@pytest.mark.parametrize("was_clean", [True, False])
@pytest.mark.parametrize("missing", [1, 77, 900])
async def test_a_short_middle_segment_is_told_and_readers_hear_of_it(
    memory: MemoryDisk,
    caplog: pytest.LogCaptureFixture,
    was_clean: bool,
    is_index_lost: bool,
    missing: int,
) -> None:
    before = await stopped(memory)
    middle, following = before.segments[2:4]
    await cut(memory, middle.path(".log"), missing)
    if is_index_lost:
        await memory.delete(middle.path(".index"))
    log = await reopened(before, was_clean=was_clean)
    assert log.end_offset == COUNT
    assert await code_of_read(log, following.base_offset - 1) is ErrorCode.CORRUPT_MESSAGE
    after = await read_slice(log, following.base_offset)
    assert after is not None
    assert after.position == 0
    with pytest.raises(KafkaError):
        await values(log)
    [told] = lines(caplog, logging.ERROR)
    assert "is damaged at byte" in told
    assert f"to {following.base_offset - 1} cannot be read" in told
    # Also the next start finds it, and looks at no more than it must.
    await log.close()
    caplog.clear()
    log = await reopened(log)
    assert len(lines(caplog)) == 1
    assert await code_of_read(log, following.base_offset - 1) is ErrorCode.CORRUPT_MESSAGE
    await log.close()


async def test_a_missing_middle_segment_is_told(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    before = await stopped(memory)
    middle, following = before.segments[2:4]
    await memory.delete(middle.path(".log"))
    log = await reopened(before)
    assert log.end_offset == COUNT
    [told] = lines(caplog)
    assert f"offsets {middle.base_offset} to {following.base_offset - 1} are missing" in told
    await log.close()


async def test_gaps_between_compacted_segments_are_no_damage(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    config = LogConfig(segment_bytes=1000, index_interval_bytes=100, cleanup_compact=True)
    before = await stopped(memory, config)
    await memory.delete(before.segments[2].path(".log"))
    log = await reopened(before)
    assert lines(caplog) == []
    await log.close()


async def test_a_damaged_segment_is_not_compacted(memory: MemoryDisk) -> None:
    config = LogConfig(segment_bytes=1000, index_interval_bytes=100, cleanup_compact=True)
    before = await stopped(memory, config)
    await cut(memory, before.segments[2].path(".log"), 77)
    log = await reopened(before)
    log.advance_high_watermark(log.end_offset)
    assert find_dirt(log, 0, NOW_MS).segments == log.segments[:2]
    await log.close()


async def test_a_length_that_leads_out_of_the_segment_is_an_error_for_readers(
    memory: MemoryDisk,
) -> None:
    before = await stopped(memory)
    await spoil(memory, before.segments[2].path(".log"), 9)
    log = await reopened(before)
    offset = before.segments[2].base_offset + 1
    assert await code_of_read(log, offset) is ErrorCode.CORRUPT_MESSAGE
    await log.close()


@pytest.mark.parametrize("was_clean", [True, False])
async def test_a_start_offset_beyond_the_end_is_refused_and_told(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture, was_clean: bool
) -> None:
    before = await stopped(memory)
    before.start_offset = 999_999
    log = await reopened(before, was_clean=was_clean)
    assert (log.start_offset, log.end_offset) == (0, COUNT)
    assert len(await values(log)) == COUNT
    [told] = lines(caplog, logging.ERROR)
    assert "start at offset 999999, but it ends at 60" in told
    await log.close()


async def test_deleted_records_stay_deleted_when_the_power_goes(memory: MemoryDisk) -> None:
    log = await open_log(memory, config=CONFIG)
    await log.flush()
    append(log, batch(b"a"))
    append(log, batch(b"b"))
    log.advance_high_watermark(2)
    await log.delete_records(2)
    memory.power_loss()
    log = await reopened(log, was_clean=False)
    assert (log.start_offset, log.end_offset) == (2, 2)
    await log.close()


@pytest.mark.parametrize("kind", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [b"abc", None])
async def test_rebuilt_indexes_are_told_once(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture, kind: str, content: bytes | None
) -> None:
    before = await stopped(memory)
    for segment in before.segments[1:3]:
        if content is None:
            await memory.delete(segment.path(kind))
        else:
            await memory.replace(segment.path(kind), content)
    log = await reopened(before)
    [told] = lines(caplog)
    assert "indexes are rebuilt" in told
    assert len(await values(log)) == COUNT
    await log.close()


async def test_a_damaged_snapshot_is_told(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    before = await stopped(memory)
    path = f"{before.directory}/{COUNT:020d}.snapshot"
    await spoil(memory, path, 5)
    log = await reopened(before)
    [told] = lines(caplog)
    assert told.startswith(path)
    await log.close()


async def test_a_log_without_its_segments_is_told(
    memory: MemoryDisk, caplog: pytest.LogCaptureFixture
) -> None:
    before = await stopped(memory)
    for segment in before.segments:
        await segment.unlink(memory)
    log = await reopened(before)
    assert log.end_offset == 0
    [told] = lines(caplog, logging.ERROR)
    assert "records up to offset 60" in told
    await log.close()


async def test_retention_gets_past_a_segment_that_holds_nothing_any_more(
    memory: MemoryDisk,
) -> None:
    before = await stopped(memory)
    await memory.replace(before.segments[0].path(".log"), bytes(before.segments[0].size))
    log = await reopened(before)
    log.advance_high_watermark(log.end_offset)
    log.config = LogConfig(segment_bytes=1000, retention_bytes=1000)
    assert await log.apply_retention() > 1
    await log.close()
