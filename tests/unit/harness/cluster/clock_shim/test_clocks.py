"""Wall clocks of single processes: shifted at run time, proved by what is seen, and only they."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.cluster.capabilities import Clocks
from harness.cluster.clock_shim import build
from harness.cluster.clock_shim import clocks as clocks_module
from harness.cluster.clock_shim.clock_file import ClockFile
from harness.cluster.errors import FaultMissedError
from harness.cluster.local import LocalPlace
from harness.cluster.local_process import LocalProcess
from harness.cluster.waiting import wait_until
from tests.unit.harness.cluster.places import SLEEPS, local_place, spawn

pytestmark = pytest.mark.skipif(build.why_no_shim() is not None, reason="there is no C compiler")

NEAR_S = 5.0
"""More than a busy machine keeps a process waiting, and less than what clocks are shifted by."""

TELLS_ITS_CLOCKS = """
import datetime, json, time
while True:
    said = {
        "time": time.time(), "ns": time.time_ns() / 1e9,
        "date": datetime.datetime.now().timestamp(),
        "real": time.clock_gettime(time.CLOCK_REALTIME), "monotonic": time.monotonic(),
        "boot": time.clock_gettime(time.CLOCK_BOOTTIME),
    }
    print(json.dumps(said), flush=True)
    time.sleep(0.01)
"""

WAITS_IN_EVERY_WAY = """
import asyncio, queue, select, threading, time
print("up", flush=True)
taken = threading.Lock()
taken.acquire()
while True:
    begun = time.monotonic()
    time.sleep(0.01)
    threading.Event().wait(0.01)
    taken.acquire(timeout=0.01)
    select.select([], [], [], 0.01)
    asyncio.run(asyncio.sleep(0.01))
    try:
        queue.Queue().get(timeout=0.01)
    except queue.Empty:
        pass
    print("round", time.monotonic() - begun, flush=True)
"""


@asynccontextmanager
async def clocks_of(directory: Path, count: int = 1) -> AsyncIterator[tuple[LocalPlace, Clocks]]:
    async with local_place(directory, count) as place:
        assert place.clock is not None
        yield place, place.clock


async def next_lines(process: LocalProcess, count: int) -> list[str]:
    """Written from now on."""
    before = (await process.output("stdout")).count("\n")

    async def are_there() -> bool:
        return (await process.output("stdout")).count("\n") > before + count

    await wait_until(are_there, within_s=30, what="it goes on", every_s=0.01)
    return (await process.output("stdout")).splitlines()[before + 1 : before + 1 + count]


async def told(process: LocalProcess) -> dict[str, float]:
    found: dict[str, float] = json.loads((await next_lines(process, 1))[0])
    return found


async def test_a_jump_is_seen_by_its_node_and_by_nobody_else(tmp_path: Path) -> None:
    async with clocks_of(tmp_path, 2) as (place, clocks):
        shifted = await spawn(place, TELLS_ITS_CLOCKS)
        await clocks.jump("n1", 3600)
        assert await clocks.offset_s("n1") == pytest.approx(3600, abs=0.01)
        assert await clocks.offset_s("n2") == pytest.approx(0, abs=0.01)
        said = await told(shifted)
        for wall in ("time", "ns", "date", "real"):
            assert said[wall] == pytest.approx(time.time() + 3600, abs=NEAR_S)
        assert said["monotonic"] == pytest.approx(time.monotonic(), abs=NEAR_S)
        assert said["boot"] == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME), abs=NEAR_S)
        await clocks.jump("n1", -7200)
        assert await clocks.offset_s("n1") == pytest.approx(-3600, abs=0.01)
        assert (await told(shifted))["time"] == pytest.approx(time.time() - 3600, abs=NEAR_S)
        await clocks.heal()
        assert await clocks.offset_s("n1") == pytest.approx(0, abs=0.01)
        assert (await told(shifted))["time"] == pytest.approx(time.time(), abs=NEAR_S)


async def test_a_skewed_clock_gains_from_where_it_stands(tmp_path: Path) -> None:
    async with clocks_of(tmp_path) as (place, clocks):
        process = await spawn(place, TELLS_ITS_CLOCKS)
        await clocks.jump("n1", 100)
        await clocks.skew("n1", 1000.0)
        assert await clocks.offset_s("n1") >= 100
        first, last = (json.loads(line) for line in (await next_lines(process, 3))[::2])
        true_s = last["monotonic"] - first["monotonic"]
        # Both are read one after the other, so the ends of the span are not exact.
        assert last["time"] - first["time"] > 500 * true_s - NEAR_S
        await clocks.skew("n1", 1.0)
        held_s = await clocks.offset_s("n1")
        assert held_s > 100
        assert await clocks.offset_s("n1") == pytest.approx(held_s, abs=0.001)
        with pytest.raises(ValueError, match="no clock runs"):
            await clocks.skew("n1", 0.0)


async def test_a_clock_that_does_not_move_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with clocks_of(tmp_path) as (_, clocks):
        monkeypatch.setattr(ClockFile, "_set", lambda *_: None)
        with pytest.raises(FaultMissedError, match="was to jump by 60 s and moved by"):
            await clocks.jump("n1", 60)
        with pytest.raises(FaultMissedError, match="was to run at 5 and gained"):
            await clocks.skew("n1", 5.0)


async def test_no_wait_gets_longer_or_shorter(tmp_path: Path) -> None:
    async with clocks_of(tmp_path) as (place, clocks):
        process = await spawn(place, WAITS_IN_EVERY_WAY)
        for by_s in (-3600, 7200):
            await clocks.jump("n1", by_s)
            for line in await next_lines(process, 2):
                assert 0.05 <= float(line.split()[1]) < 30


async def test_a_process_that_starts_later_finds_the_clock_as_it_is(tmp_path: Path) -> None:
    async with clocks_of(tmp_path) as (place, clocks):
        await clocks.jump("n1", 3600)
        process = await spawn(place, TELLS_ITS_CLOCKS)
        assert (await told(process))["time"] == pytest.approx(time.time() + 3600, abs=NEAR_S)


async def test_a_process_that_does_not_live_by_its_clock_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks_module, "_STARTED_WITHIN_S", 0.2)
    async with clocks_of(tmp_path) as (place, clocks):
        home = place.hosts[0].home
        bare = ["env", "-u", "LD_PRELOAD", sys.executable, "-c", SLEEPS]
        process = await place.spawn("n1", bare, stdout=home / "out", stderr=home / "err")
        with pytest.raises(FaultMissedError, match="does not live by the clock"):
            await clocks.jump("n1", 60)
        await process.kill()
        await clocks.jump("n1", 60)


async def test_only_nodes_have_clocks(tmp_path: Path) -> None:
    async with clocks_of(tmp_path) as (_, clocks):
        with pytest.raises(ValueError, match="no node n9"):
            await clocks.jump("n9", 1)
        await clocks.heal()


def test_without_a_compiler_the_reason_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    build._built.cache_clear()
    try:
        assert "apt-get install gcc" in (build.why_no_shim() or "")
    finally:
        build._built.cache_clear()


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "cc"
    failing.write_text("#!/bin/sh\necho 'time.h: No such file' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(failing))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build._built.cache_clear()
    try:
        assert "time.h: No such file" in (build.why_no_shim() or "")
    finally:
        build._built.cache_clear()


def test_a_clock_file_goes_with_its_clock(tmp_path: Path) -> None:
    made = ClockFile(tmp_path / "n1" / "clock")
    made.jump(1.0)
    assert not made.is_true
    made.heal()
    assert made.is_true
    made.close()
    assert not made.path.exists()
