"""Client workers as a nemesis has them: killed, paused and brought back, one by one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import pytest

from harness.client.base import ClientSettings
from harness.cluster.errors import NotInTimeError
from harness.cluster.local import LocalPlace
from harness.doubts import sentence_of
from harness.errors import EnvironmentFailure
from harness.history.history import History, finish
from harness.history.op import Op
from harness.history.recorder import Recorder
from harness.run.plan import Plan
from harness.run.tally import Tally
from harness.run.worker_clients import WorkerClients

CLIENTS = 2
LOAD_S = 60.0
KILLS = 7
"""More than would be borne of one that does nothing."""


class Breaking(LocalPlace):
    """Where, from some moment on, whatever is started as a client fails."""

    broken_by = ""
    starts = 0

    def client_command(self, command: Sequence[str]) -> Sequence[str]:
        self.starts += 1
        if not self.broken_by:
            return super().client_command(command)
        return [*super().client_command(command[:1]), "-c", self.broken_by]


def with_workers(
    directory: Path,
    act: Callable[[WorkerClients, Tally], Coroutine[None, None, None]],
    *,
    first: Callable[[WorkerClients], Coroutine[None, None, None]] | None = None,
    place: LocalPlace | None = None,
    deaths: int = 0,
    doubts: Sequence[str] = (),
) -> History:
    """At work with a client that has an answer to everything, until `act` is done."""

    async def play() -> None:
        plan = Plan(client="instant", concurrency=CLIENTS, rate=200, seed=1)
        tally = Tally(Recorder(directory / "history"), time.monotonic_ns())
        where, settings = place or LocalPlace(directory), ClientSettings(bootstrap="nobody:9092")
        workers = WorkerClients(where, plan, settings, tally, directory / "clients")
        try:
            await workers.open()
            if first is not None:
                await first(workers)
            load = asyncio.create_task(workers.load(LOAD_S))
            await act(workers, tally)
            workers.stop()
            await load
        finally:
            await workers.close()
            tally.close()
        assert workers.deaths == deaths
        assert [sentence_of(doubt) for doubt in workers.doubts] == list(doubts)

    asyncio.run(play())
    finish(directory / "history")
    return History.load(directory)


async def progress(tally: Tally) -> None:
    """Returns when somebody has done something more."""
    before = tally.counts.completed
    await until(lambda: tally.counts.completed > before + 5)


async def first_operation(workers: WorkerClients, client: str) -> None:
    """A client that ends without an operation would count as the first that ends in vain."""
    await until(lambda: workers._worker(client).completed > 0)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - what workers do comes by a pipe
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
    all_is_told(history)
    sent = [op.value[0][2] for op in history if op.f == "send" and op.type == "invoke"]
    assert len(sent) == len(set(sent)) > 0


def all_is_told(history: Sequence[Op]) -> None:
    """What became of an operation is told of each, be it that nobody knows."""
    begun = [op.process for op in history if op.type == "invoke"]
    ended = [op.process for op in history if op.type != "invoke"]
    assert sorted(begun) == sorted(ended)


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
            with pytest.raises(NotInTimeError, match="the process of client 1 is stopped"):
                await workers.pause("c1")
            with pytest.raises(NotInTimeError, match="the process of client 2 has ended"):
                await workers.kill("c2")
        await workers.pause("c1")
        await workers.resume("c1")
        await progress(tally)

    with_workers(tmp_path, act)


def test_nobody_waits_for_one_to_stand_still_that_is_killed_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        with monkeypatch.context() as sabotage:
            sabotage.setattr("harness.run.worker_process.is_stopped", lambda _: False)
            await asyncio.gather(workers.pause("c1"), workers.kill("c1"))
        assert not await workers.is_running("c1")
        assert not await workers.is_paused("c1")

    with_workers(tmp_path, act)


def test_one_that_is_late_hears_a_stop_that_came_before_it_began(tmp_path: Path) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        await workers.kill("c2")
        await workers.start("c2")

    begun_s = time.monotonic()
    with_workers(tmp_path, act)
    assert time.monotonic() - begun_s < LOAD_S


async def somebody_kills(workers: WorkerClients, client: str) -> None:
    """Who has no part in the run."""
    before = workers.process(client)
    os.kill(int(before.removeprefix("process ")), signal.SIGKILL)
    await until(lambda: workers.process(client) != before)


def test_one_that_somebody_kills_is_replaced_as_often_as_it_did_something(tmp_path: Path) -> None:
    async def act(workers: WorkerClients, tally: Tally) -> None:
        await workers.kill("c2")
        for _ in range(KILLS):
            await progress(tally)
            await somebody_kills(workers, "c1")
        await progress(tally)

    history = with_workers(tmp_path, act, deaths=KILLS)
    assert {op.process for op in history} >= {CLIENTS * times for times in range(KILLS + 1)}


def test_one_that_ended_before_there_was_a_load_is_replaced_for_it(tmp_path: Path) -> None:
    async def first(workers: WorkerClients) -> None:
        os.kill(int(workers.process("c1").removeprefix("process ")), signal.SIGKILL)
        await until(lambda: workers.deaths > 0)

    async def act(workers: WorkerClients, tally: Tally) -> None:
        await workers.kill("c2")
        await progress(tally)

    with_workers(tmp_path, act, first=first, deaths=1)


def test_a_paused_one_that_is_killed_goes_on_as_another(tmp_path: Path) -> None:
    """By a fault, which tells of it, or by somebody else, of which the run has to."""

    async def act(workers: WorkerClients, tally: Tally) -> None:
        for idle in workers.names:
            # Each of them does something before it is killed.
            await workers.pause(idle)
            await progress(tally)
            await workers.resume(idle)
        for client in workers.names:
            await workers.pause(client)
        await workers.kill("c1")
        await standstill(tally)
        await workers.start("c1")
        await somebody_kills(workers, "c2")
        for idle in workers.names:
            # Each of them without the other.
            await workers.kill(idle)
            await progress(tally)
            await workers.start(idle)

    doubt = "client 2 ended while it was paused: SIGKILL"
    history = list(with_workers(tmp_path, act, deaths=1, doubts=[f"{doubt}; see clients/c2.log"]))
    processes = {op.process for op in history}
    assert processes > {0, 1}
    assert {process % CLIENTS for process in processes - {0, 1}} == {0, 1}
    all_is_told(history)


FAILS = """
from harness.run.worker import Pen
Pen(1).news("failed", "ValueError: no such thing")
raise SystemExit(1)
"""


@pytest.mark.parametrize(
    ("broken_by", "why"),
    [
        (FAILS, "ValueError: no such thing"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
    ],
)
def test_one_that_always_fails_is_given_up_and_the_others_go_on(
    tmp_path: Path, broken_by: str, why: str
) -> None:
    place = Breaking(tmp_path)

    async def act(workers: WorkerClients, tally: Tally) -> None:
        await first_operation(workers, "c2")
        place.broken_by = broken_by
        await somebody_kills(workers, "c2")
        await until(lambda: any("is not restarted" in each.detail for each in workers.doubts))
        assert not await workers.is_running("c2")
        await progress(tally)

    told = f"client 2 ended 5 times in a row without an operation and is not restarted: {why}"
    with_workers(tmp_path, act, place=place, deaths=6, doubts=[f"{told}; see clients/c2.log"])
    assert place.starts == CLIENTS + 5


@pytest.mark.parametrize("is_deaf", [False, True])
def test_one_that_closes_its_pipe_and_does_not_end_is_ended_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_deaf: bool
) -> None:
    """A deaf one stands for one that waits for a disk: no signal ends it."""
    place, late = Breaking(tmp_path), set[subprocess.Popen[bytes]]()

    def never(popen: subprocess.Popen[bytes], timeout: float) -> None:
        late.add(popen)
        raise subprocess.TimeoutExpired("a client", timeout)

    async def act(workers: WorkerClients, tally: Tally) -> None:
        await first_operation(workers, "c2")
        with monkeypatch.context() as sabotage:
            sabotage.setattr("harness.run.worker_process._SIGNAL_WITHIN_S", 0.2)
            if is_deaf:
                sabotage.setattr(subprocess.Popen, "wait", never)
            place.broken_by = "import os, sys; os.close(1); sys.stdin.buffer.read()"
            await somebody_kills(workers, "c2")
            await until(lambda: any("is not restarted" in each.detail for each in workers.doubts))
        assert not await workers.is_running("c2")
        await progress(tally)

    why = "it closed its pipe and survived every signal" if is_deaf else "SIGKILL"
    told = f"client 2 ended 5 times in a row without an operation and is not restarted: {why}"
    with_workers(tmp_path, act, place=place, deaths=6, doubts=[f"{told}; see clients/c2.log"])
    for popen in late:
        popen.wait(60)


def test_one_that_fails_once_is_replaced_and_told_of(tmp_path: Path) -> None:
    place = Breaking(tmp_path)

    async def act(workers: WorkerClients, tally: Tally) -> None:
        await progress(tally)
        place.broken_by = FAILS
        await somebody_kills(workers, "c2")
        place.broken_by = ""
        await until(lambda: bool(workers.doubts))
        await progress(tally)
        assert await workers.is_running("c2")

    told = "client 2 failed: ValueError: no such thing; see clients/c2.log"
    with_workers(tmp_path, act, place=place, deaths=2, doubts=[told])


def test_one_that_ends_before_it_is_ready_says_why(tmp_path: Path) -> None:
    place = Breaking(tmp_path)
    place.broken_by = FAILS

    async def act(workers: WorkerClients, tally: Tally) -> None:
        pytest.fail("there is nobody to work")

    with pytest.raises(EnvironmentFailure, match="1 ended before it was ready: ValueError: no"):
        with_workers(tmp_path, act, place=place)
