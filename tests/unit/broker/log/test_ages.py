"""How old something is: by the loop, which goes on evenly, and not by a clock that may be set."""

from __future__ import annotations

import asyncio

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.breather import CALLS_PER_SLICE, Breather
from tests.unit.broker.log.builders import NOW_MS, Clock, append, batch, open_log, reopened

DAY_MS = 86_400_000


async def test_a_clock_that_jumps_makes_nobody_forget_a_producer(disk: Disk) -> None:
    clock = Clock()
    log = await open_log(disk, clock=clock)
    append(log, batch(producer_id=7, epoch=0, sequence=0))
    clock.time_ms += 30 * DAY_MS
    assert log.expire_producers() == 0
    assert append(log, batch(producer_id=7, epoch=0, sequence=0)).duplicate
    await log.close()


async def test_a_silent_producer_is_forgotten_and_a_restart_begins_to_count_anew(
    memory: MemoryDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await open_log(memory)
    append(log, batch(producer_id=7, epoch=0, sequence=0))
    await log.close()
    real = asyncio.get_running_loop().time
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: real() + DAY_MS / 1000)
    log = await reopened(log)
    assert log.expire_producers() == 0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: real() + 2 * DAY_MS / 1000)
    log._loop_time = asyncio.get_running_loop().time
    assert log.expire_producers() == 1
    monkeypatch.undo()
    log.abandon()


async def test_a_duplicate_is_answered_with_the_time_of_its_first_append(disk: Disk) -> None:
    clock = Clock()
    log = await open_log(
        disk, clock=clock, config=LogConfig(message_timestamp_type="LogAppendTime")
    )
    first = append(log, batch(producer_id=7, epoch=0, sequence=0, time_ms=1000))
    clock.time_ms += 500
    again = append(log, batch(producer_id=7, epoch=0, sequence=0, time_ms=1000))
    assert again.duplicate
    assert first.log_append_time_ms == again.log_append_time_ms == NOW_MS
    await log.close()


async def test_long_work_gives_others_a_turn_even_when_time_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breather = Breather()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: 0.0)
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    for _ in range(CALLS_PER_SLICE):
        await breather.pause()
    monkeypatch.undo()
    assert turns == [1]
