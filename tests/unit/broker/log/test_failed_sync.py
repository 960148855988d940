"""After a failed sync nothing that is acknowledged later may rest on bytes that were given up."""

from __future__ import annotations

import errno

import pytest

from broker.config.topic import LogConfig
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.log import Log
from broker.log.room import is_lack_of_room
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import (
    append,
    append_rolling,
    batch,
    crashed,
    open_log,
    reopened,
    values,
)


async def fail_to_flush(disk: MemoryDisk, log: Log) -> None:
    disk.fail("fdatasync", "*.log", times=1)
    with pytest.raises(KafkaError) as refused:
        await log.flush()
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_log_that_comes_back_makes_durable_what_a_failed_sync_gave_up(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory)
    append(log, batch(b"a"))
    await log.flush()
    append(log, batch(b"b"))
    await fail_to_flush(memory, log)
    await log.reopen(Breather())
    append(log, batch(b"c"))
    await log.flush()
    memory.power_loss()
    log = await reopened(log, was_clean=False)
    assert await values(log) == [b"a", b"b", b"c"]


async def test_so_does_another_process(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    append(log, batch(b"a"))
    await fail_to_flush(memory, log)
    memory.process_crash()
    log = await crashed(log)
    append(log, batch(b"b"))
    await log.flush()
    memory.power_loss()
    log = await reopened(log, was_clean=False)
    assert await values(log) == [b"a", b"b"]


async def test_so_it_is_when_the_failed_sync_was_that_of_a_rolled_segment(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory, config=LogConfig(segment_bytes=200))
    for number in range(3):
        await append_rolling(log, batch(b"%d" % number))
    await fail_to_flush(memory, log)
    await log.reopen(Breather())
    memory.power_loss()
    log = await reopened(log, was_clean=False)
    assert await values(log) == [b"0", b"1", b"2"]


async def test_what_was_synced_before_is_not_written_again(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    append(log, batch(b"a"))
    await log.flush()
    append(log, batch(b"b"))
    log.failure = OSError(errno.EIO, "another log met it")
    start = log.active.locate(1)
    size = log.active.size
    asked: list[tuple[int, int]] = []
    real = type(log.active.file).write_again

    async def ask(file: object, position: int, length: int) -> None:
        asked.append((position, length))
        await real(file, position, length)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(log.active.file), "write_again", ask)
        await log.reopen(Breather())
    assert asked == [(start, size - start)]


async def test_a_truncation_whose_sync_finds_no_room_may_have_lost_what_it_kept(
    memory: MemoryDisk,
) -> None:
    """A full disk leaves a log trusted, so that a kill before it is back would go unnoticed."""
    log = await open_log(memory)
    append(log, batch(b"a"))
    append(log, batch(b"b"))
    memory.fail("fdatasync", "*.log", error=errno.ENOSPC, times=1)
    with pytest.raises(KafkaError):
        await log.truncate_to(1)
    assert log.failure is not None
    assert not is_lack_of_room(log.failure)
    await log.reopen(Breather())
    assert await values(log) == [b"a"]
