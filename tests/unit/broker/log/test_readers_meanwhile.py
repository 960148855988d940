"""Readers of a log whose segments go away while they read."""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import ColdReadError, Disk
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.log import Log
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import NOW_MS, append, append_rolling, batch, open_log, values

CONFIG = LogConfig(segment_bytes=400, retention_bytes=0)


async def long_log(disk: Disk) -> Log:
    log = await open_log(disk, config=CONFIG)
    for number in range(20):
        await append_rolling(log, batch(b"x" * 100, time_ms=NOW_MS + number))
    log.advance_high_watermark(log.end_offset)
    return log


@pytest.mark.parametrize("steps", range(8))
async def test_looking_for_a_time_survives_retention(disk: Disk, steps: int) -> None:
    log = await long_log(disk)
    looking = [asyncio.create_task(log.find_by_timestamp(NOW_MS, 20)) for _ in range(3)]
    latest = asyncio.create_task(log.find_max_timestamp())
    for _ in range(steps):
        await asyncio.sleep(0)
    await log.apply_retention()
    for found in await asyncio.gather(*looking):
        assert found is None or found.offset < 20
    await latest
    assert log.failure is None
    await log.close()


async def test_looking_for_a_time_begins_again_when_its_segment_is_gone(
    memory: MemoryDisk,
) -> None:
    log = await long_log(memory)
    first = log.segments[0]

    async def close_it(operation: str, _path: str) -> None:
        if operation == "warm":
            memory.before = None
            await log.delete_records(10)
            first.file.close()

    memory.before = close_it
    found = await log.find_by_timestamp(NOW_MS, 20)
    assert found is not None
    assert found.offset == 10
    assert log.failure is None


async def test_looking_for_a_time_while_the_log_comes_back(memory: MemoryDisk) -> None:
    log = await long_log(memory)

    async def come_back(operation: str, _path: str) -> None:
        if operation == "warm":
            memory.before = None
            log.failure = OSError(errno.EIO, "another log met it")
            await log.reopen(Breather())

    memory.before = come_back
    found = await log.find_by_timestamp(NOW_MS + 7, 20)
    assert found is not None
    assert found.offset == 7
    assert log.failure is None


async def test_a_cold_read_that_fails_takes_the_log_offline(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    append(log, batch())
    memory.chill("*.log")
    with pytest.raises(ColdReadError) as cold:
        log.read(0, 1000, up_to=1, at_least_one=True)
    memory.fail("warm")
    await cold.value.warm()
    with pytest.raises(KafkaError) as refused:
        log.read(0, 1000, up_to=1, at_least_one=True)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.failure is not None
    log.abandon()


async def test_a_cold_read_of_a_file_that_left_the_log_is_no_failure(memory: MemoryDisk) -> None:
    log = await long_log(memory)
    memory.chill("*.log")
    with pytest.raises(ColdReadError) as cold:
        log.read(0, 1000, up_to=20, at_least_one=True)
    await log.delete_records(10)
    memory.fail("warm", times=1)
    await cold.value.warm()
    assert log.failure is None
    assert len(await values(log)) == 10


async def test_nothing_brings_a_deleted_log_back(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch())
    log.mark_deleted()
    log.abandon()
    for refused in (log.reopen(Breather()), log.flush(), log.roll(), log.find_by_timestamp(0, 1)):
        with pytest.raises(KafkaError) as unknown:
            await refused
        assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError) as unknown:
        append(log, batch())
    assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert log.failure is not None
