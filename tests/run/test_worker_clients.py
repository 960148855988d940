"""Client workers as a nemesis has them: killed, paused and brought back, one by one."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from harness.client.base import ClientSettings
from harness.cluster.errors import NotInTimeError
from harness.cluster.local import LocalPlace
from harness.history.history import History, finish
from harness.history.recorder import Recorder
from harness.run.plan import Plan
from harness.run.tally import Tally
from harness.run.worker_clients import WorkerClients

CLIENTS = 2
LOAD_S = 60.0


def with_workers(
    directory: Path, act: Callable[[WorkerClients, Tally], Coroutine[None, None, None]]
) -> History:
    """At work with a client that has an answer to everything, until `act` is done."""

    async def play() -> None:
        plan = Plan(client="instant", concurrency=CLIENTS, rate=200, seed=1)
        tally = Tally(Recorder(directory / "history"), time.monotonic_ns())
        workers = WorkerClients(
            LocalPlace(directory), plan, ClientSettings(bootstrap="nobody:9092"), tally, directory
        )
        try:
            await workers.open()
            load = asyncio.create_task(workers.load(LOAD_S))
            await act(workers, tally)
            workers.stop()
            await load
        finally:
            await workers.close()
            tally.close()
        assert workers.deaths == 0

    asyncio.run(play())
    finish(directory / "history")
    return History.load(directory)


async def progress(tally: Tally) -> None:
    """Returns when somebody has done something more."""
    before = tally.counts.completed
    async with asyncio.timeout(30):
        while tally.counts.completed <= before + 5:  # noqa: ASYNC110 - rows come by a pipe
            await asyncio.sleep(0.01)


async def standstill(tally: Tally) -> None:
    await asyncio.sleep(0.5)  # for what was in the pipe
    before = tally.counts.completed
    await asyncio.sleep(0.5)
    assert tally.counts.completed == before


def test_the_killed_stay_away_until_another_process_takes_their_place(tmp_path: Path) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        assert workers.names == ["c1", "c2"]
        await progress(tally)
        first = workers.process("c1")
        for client in workers.names:
            await workers.kill(client)
            await workers.kill(client)
            assert not await workers.is_running(client)
            assert not await workers.is_paused(client)
        await standstill(tally)
        await workers.start("c1")
        await workers.start("c1")
        assert await workers.is_running("c1")
        assert workers.process("c1") != first
        await progress(tally)
        # Who is held when all is over keeps nobody waiting.

    history = list(with_workers(tmp_path, act))
    assert {op.process for op in history} == {0, 1, 2}
    # What became of an operation is told of each, be it that nobody knows.
    begun = [op.process for op in history if op.type == "invoke"]
    ended = [op.process for op in history if op.type != "invoke"]
    assert sorted(begun) == sorted(ended)
    sent = [op.value[0][2] for op in history if op.f == "send" and op.type == "invoke"]
    assert len(sent) == len(set(sent)) > 0


def test_the_paused_stand_still_and_go_on_as_they_were(tmp_path: Path) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        await progress(tally)
        before = [workers.process(client) for client in workers.names]
        for client in workers.names:
            await workers.pause(client)
            assert await workers.is_paused(client)
            assert await workers.is_running(client)
        await standstill(tally)
        for client in workers.names:
            await workers.resume(client)
            assert not await workers.is_paused(client)
        await progress(tally)
        assert [workers.process(client) for client in workers.names] == before

    assert {op.process for op in with_workers(tmp_path, act)} == {0, 1}


def test_a_signal_that_does_not_arrive_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        with monkeypatch.context() as sabotage:
            sabotage.setattr("harness.run.worker_process._SIGNAL_WITHIN_S", 0.2)
            sabotage.setattr(os, "killpg", lambda _, number: signal.Signals(number))
            with pytest.raises(NotInTimeError, match="the process of client 1 stands still"):
                await workers.pause("c1")
            with pytest.raises(NotInTimeError, match="the process of client 2 is gone"):
                await workers.kill("c2")
        await workers.pause("c1")
        await workers.resume("c1")
        await progress(tally)

    with_workers(tmp_path, act)


def test_one_that_is_late_hears_a_stop_that_came_before_it_began(tmp_path: Path) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        await workers.kill("c2")
        await workers.start("c2")

    begun_s = time.monotonic()
    with_workers(tmp_path, act)
    assert time.monotonic() - begun_s < LOAD_S
