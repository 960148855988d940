"""A full disk: nothing more is written, everything is read, and deleting makes room."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable

import pytest

from broker.config.topic import LogConfig
from broker.disk.memory import MemoryDisk
from broker.log.log import Log
from broker.log.room import is_lack_of_room
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import append, append_rolling, batch, crashed, open_log, values

CONFIG = LogConfig(max_message_bytes=1000, segment_bytes=1500, retention_bytes=0)


async def fill(log: Log) -> int:
    """How many batches the disk took."""
    count = 0
    while True:
        try:
            await append_rolling(log, batch(b"x" * 500))
        except KafkaError as refused:
            if refused.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                raise
            return count
        count += 1


async def test_a_log_on_a_full_disk_can_still_be_read() -> None:
    disk = MemoryDisk(capacity_bytes=5000)
    log = await open_log(disk, config=CONFIG)
    count = await fill(log)
    assert count > 3
    assert log.failure is None
    assert len(await values(log)) == count
    found = await log.find_by_timestamp(0, log.end_offset)
    assert found is not None
    with pytest.raises(KafkaError):
        append(log, batch())
    log = await crashed(log)
    assert len(await values(log)) == count


async def test_it_is_written_to_again_when_there_is_room_to_spare() -> None:
    disk = MemoryDisk(capacity_bytes=5000)
    log = await open_log(disk, config=CONFIG)
    count = await fill(log)
    disk.capacity_bytes = disk._used_bytes() + 1500
    with pytest.raises(KafkaError):
        await append_rolling(log, batch(b"x" * 500))
    disk.capacity_bytes = disk._used_bytes() + 2500
    await append_rolling(log, batch(b"x" * 500))
    assert len(await values(log)) == count + 1
    await log.close()


async def test_retention_makes_room_on_a_disk_without_any() -> None:
    disk = MemoryDisk(capacity_bytes=5000)
    log = await open_log(disk, config=CONFIG)

    async def save() -> None:
        await disk.replace("log-start-offset-checkpoint", bytes(50))

    log.save_offsets = save
    count = await fill(log)
    await log.settle()
    disk.capacity_bytes = disk._used_bytes()
    log.advance_high_watermark(log.end_offset)
    assert await log.apply_retention() > 0
    assert log.failure is None
    assert log.start_offset > 0
    assert len(await values(log)) == log.end_offset - log.start_offset < count
    await append_rolling(log, batch())
    await log.close()


async def test_a_sync_that_finds_no_room_is_a_failure_like_any_other(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    append(log, batch())
    memory.fail("fdatasync", error=errno.ENOSPC, times=1)
    with pytest.raises(KafkaError):
        await log.flush()
    assert log.failure is not None
    log.abandon()


async def test_a_roll_without_room_changes_nothing(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    append(log, batch(b"a"))
    memory.fail("create", error=errno.ENOSPC, times=1)
    with pytest.raises(KafkaError):
        await log.roll()
    assert log.failure is None
    assert await values(log) == [b"a"]
    await append_rolling(log, batch(b"b"))
    assert await values(log) == [b"a", b"b"]
    await log.close()


async def test_retention_deletes_what_it_can_when_there_is_no_room_for_a_new_segment(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory, config=CONFIG)
    for _ in range(8):
        await append_rolling(log, batch(b"x" * 500))
    await log.settle()
    log.advance_high_watermark(log.end_offset)
    segment_count = len(log.segments)
    memory.fail("create", error=errno.ENOSPC)
    assert await log.apply_retention() == segment_count - 1
    assert log.failure is None
    assert len(log.segments) == 1
    memory.heal()
    await append_rolling(log, batch())
    await log.close()


async def read_first(log: Log) -> None:
    log.read(0, 1000, up_to=1, at_least_one=True)


@pytest.mark.parametrize(("operation", "deed"), [("is_hot", read_first), ("free_bytes", Log.roll)])
async def test_a_read_that_fails_is_no_lack_of_room_whatever_its_number(
    operation: str, deed: Callable[[Log], Awaitable[None]]
) -> None:
    disk = MemoryDisk(capacity_bytes=5000)
    log = await open_log(disk, config=CONFIG)
    await fill(log)
    disk.fail(operation, error=errno.ENOSPC)
    with pytest.raises(KafkaError) as failed:
        await deed(log)
    assert log.failure is not None
    assert failed.value.__cause__ is log.failure
    assert not is_lack_of_room(log.failure)
    disk.heal()
    with pytest.raises(KafkaError, match="is offline") as offline:
        append(log, batch())
    assert offline.value.__cause__ is log.failure
    log.abandon()
