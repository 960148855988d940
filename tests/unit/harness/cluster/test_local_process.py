"""Real processes: each fault is in force when its call returns, and nothing survives."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from harness.cluster import local_process
from harness.cluster.errors import FaultMissedError, NotInTimeError
from harness.cluster.local_process import LocalProcess
from harness.cluster.process_table import is_alive, is_stopped, living_members
from tests.unit.harness.cluster.places import (
    COUNTS,
    DEAF,
    HAS_A_CHILD,
    LEAVES_A_CHILD,
    SLEEPS,
    local_place,
    spawn,
)


async def test_a_killed_process_is_gone_when_the_kill_returns(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, SLEEPS)
        assert await process.is_running()
        await process.kill()
        assert not is_alive(process.pid)
        assert not await process.is_running()
        assert await process.wait() == -signal.SIGKILL
        await process.kill()  # To kill the dead does nothing.


async def test_a_kill_takes_the_children_along(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, HAS_A_CHILD)
        child = int(await process.output("stdout"))
        assert sorted(living_members(process.pid)) == sorted([process.pid, child])
        await process.kill()
        assert not is_alive(child)
        assert living_members(process.pid) == []


async def test_who_ends_by_itself_leaves_no_child_behind(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, LEAVES_A_CHILD)
        child = int(await process.output("stdout"))
        assert await process.wait() == 0
        await process.kill()
        assert not is_alive(child)


async def test_a_paused_process_does_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, COUNTS)
        await process.pause()
        assert is_stopped(process.pid)
        assert await process.is_paused()
        assert await process.is_running()
        before = await process.output("stdout")
        await asyncio.sleep(0.05)
        assert await process.output("stdout") == before
        await process.pause()  # It is paused already.

        await process.resume()
        assert not await process.is_paused()
        while await process.output("stdout") == before:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_paused_process_can_be_killed_and_stopped(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        killed, stopped = await spawn(place, SLEEPS), await spawn(place, SLEEPS)
        await killed.pause()
        await killed.kill()
        assert not is_alive(killed.pid)
        await stopped.pause()
        assert await stopped.terminate(within_s=20) == -signal.SIGTERM


async def test_a_pause_of_the_dead_is_a_fault_that_missed(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, SLEEPS)
        await process.kill()
        with pytest.raises(FaultMissedError, match="ended before it could be paused"):
            await process.pause()


@pytest.mark.parametrize(("fault", "told"), [("kill", "survives SIGKILL"), ("pause", "SIGSTOP")])
async def test_a_fault_that_does_not_take_hold_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, told: str
) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, SLEEPS)
        with monkeypatch.context() as patched:
            patched.setattr(local_process, "_PATIENCE_S", 0.05)
            patched.setattr(LocalProcess, "_signal", lambda *_: None)
            with pytest.raises(FaultMissedError, match=told):
                await getattr(process, fault)()
        assert await process.is_running()


async def test_a_clean_stop_gives_the_exit_code(tmp_path: Path) -> None:
    polite = SLEEPS.replace(
        "import time;", "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7));"
    )
    async with local_place(tmp_path) as place:
        assert await (await spawn(place, polite)).terminate(within_s=20) == 7


async def test_who_does_not_stop_in_time_is_killed_and_told_of(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        process = await spawn(place, DEAF)
        with pytest.raises(NotInTimeError, match=rf"process {process.pid} ends after SIGTERM"):
            await process.terminate(within_s=0.05)
        assert not is_alive(process.pid)


async def test_what_an_earlier_life_wrote_is_not_this_ones_output(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        first = await spawn(place, SLEEPS.replace("'up'", "'first'"))
        await first.kill()
        second = await spawn(place, SLEEPS.replace("'up'", "'second'"))
        assert await first.output("stdout") == "first\nsecond\n"
        assert await second.output("stdout") == "second\n"
        assert await second.output("stderr") == ""
