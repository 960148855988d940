"""What hosts leave behind: nothing, whether they go in peace, by an error, or by kill -9."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.cluster.netns import heal
from harness.cluster.netns.machine import Machine
from harness.cluster.netns.registry import Claim, claim
from harness.errors import EnvironmentFailure
from tests.netns import traces
from tests.netns.places import disks_of, hosts, network_of, started
from tests.netns.test_hosts import SLEEPS

ROOT = Path(__file__).parents[2]

HARNESS = """
import asyncio, subprocess, sys
from pathlib import Path
from tests.netns.places import disks_of, hosts, network_of, started
from tests.netns.test_hosts import SLEEPS

async def main():
    print("begun", flush=True)
    async with hosts(Path(sys.argv[1]), 3) as place:
        await started(place, "n1", SLEEPS)
        client = subprocess.Popen(place.client_command(["sleep", "600"]))
        await network_of(place).cut([("n1", "n2")])
        print("up", flush=True)
        for _ in range(100):
            await disks_of(place).lose_power("n3")
            await disks_of(place).fill("n2")
            await disks_of(place).heal()
            await network_of(place).heal()
        await asyncio.sleep(600)

asyncio.run(main())
"""


def left(harness: int, directory: Path, namespaces: frozenset[str]) -> list[str]:
    """Kernels clear up behind the last process, but take their time."""
    until_s = time.monotonic() + 20
    while (found := traces.of_process(harness, directory, namespaces)) and (
        time.monotonic() < until_s
    ):
        time.sleep(0.01)
    return found


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def begun(directory: Path) -> subprocess.Popen[str]:
    harness = subprocess.Popen(
        # Tests that run in the background have SIGINT ignored, and children inherit that.
        ["env", "--default-signal=INT", sys.executable, "-c", HARNESS, str(directory)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert harness.stdout is not None
    assert harness.stdout.readline() == "begun\n"
    return harness


async def test_going_down_leaves_nothing(tmp_path: Path) -> None:
    me = os.getpid()
    before = await asyncio.to_thread(traces.root_network)
    descriptors = open_descriptors()
    async with hosts(tmp_path, 2) as place:
        await started(place, "n1", SLEEPS)
        await network_of(place).cut([("n1", "n2")])
        await disks_of(place).lose_power("n2")
        namespaces = await asyncio.to_thread(traces.namespaces_of, me)
        assert len(traces.processes(me)) > 3
        assert len(namespaces) > 2 * 5
        assert await asyncio.to_thread(traces.root_network) == before
    assert await asyncio.to_thread(left, me, tmp_path, namespaces) == []
    assert await asyncio.to_thread(traces.root_network) == before
    assert open_descriptors() == descriptors
    assert [thread.name for thread in threading.enumerate() if "switch" in thread.name] == []
    await place.down()


async def test_hosts_that_do_not_come_up_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Machine.go
    monkeypatch.setattr(
        Machine, "go", lambda machine: machine.end() if machine.node == "n2" else go(machine)
    )
    with pytest.raises(EnvironmentFailure, match="n2"):
        async with hosts(tmp_path, 3):
            pass
    assert await asyncio.to_thread(left, os.getpid(), tmp_path, frozenset()) == []


@pytest.mark.parametrize("moment_s", [0.0, 0.1, 0.25, 0.5, 1.0])
async def test_giving_up_on_the_way_leaves_nothing(tmp_path: Path, moment_s: float) -> None:
    async def hold() -> None:
        async with hosts(tmp_path, 3):
            await asyncio.sleep(600)

    task = asyncio.create_task(hold())
    await asyncio.sleep(moment_s)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(left, os.getpid(), tmp_path, frozenset()) == []


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with begun(tmp_path) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "up\n"
        namespaces = traces.namespaces_of(harness.pid)
        harness.send_signal(signal.SIGINT)
        harness.wait(30)
    assert left(harness.pid, tmp_path, namespaces) == []


def killed(directory: Path, after_s: float | None) -> None:
    """So many seconds after its begin; None is as soon as all is up."""
    before = traces.root_network()
    with begun(directory) as harness:
        assert harness.stdout is not None
        if after_s is None:
            assert harness.stdout.readline() == "up\n"
        else:
            time.sleep(after_s)
        namespaces = traces.namespaces_of(harness.pid)
        heal()
        assert after_s is not None or len(traces.processes(harness.pid)) > 4, "it still lives"
        harness.kill()
    until_s = time.monotonic() + 20
    while alive := traces.processes(harness.pid):
        assert time.monotonic() < until_s, f"{alive} outlived the harness"
        time.sleep(0.005)
    heal()
    assert left(harness.pid, directory, namespaces) == []
    assert traces.root_network() == before


def test_a_killed_harness_takes_its_hosts_along_and_the_rest_is_healed(tmp_path: Path) -> None:
    killed(tmp_path, None)


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(20))
def test_a_harness_killed_at_any_moment_leaves_nothing_after_a_heal(
    tmp_path: Path, turn: int
) -> None:
    killed(tmp_path, random.Random(turn).uniform(0, 3))


def test_nobody_heals_the_living(tmp_path: Path) -> None:
    """Not even who shares their machine: the entry of a run names the process that owns it."""
    healed: list[str] = []

    async def up() -> None:
        async with hosts(tmp_path, 1) as place:
            healed.extend((await asyncio.to_thread(heal)).removed)
            assert (await place.run("n1", ["hostname"])).stdout == "n1\n"

    asyncio.run(up())
    assert not [line for line in healed if f"process {os.getpid()}" in line]


def test_several_may_heal_at_once(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    image = tmp_path / "n1.img"
    mine = claim()
    mine.release()
    _, _, namespace, boot, _ = mine.directory.name.split(".")
    for number in range(5):
        entry = Claim(traces.REGISTRY / f"{gone.pid}.1.{namespace}.{boot}.{number}")
        (entry.directory / "n1").mkdir(parents=True)
        entry.will_make(image)
        entry.cgroup.below("n1").make()
    image.touch()
    with ThreadPoolExecutor(8) as threads:
        healed = [
            line
            for each in [threads.submit(heal) for _ in range(8)]
            for line in each.result().removed
        ]
    assert f"hosts of process {gone.pid}, which is gone" in healed
    assert traces.of_process(gone.pid, tmp_path, frozenset()) == []


def test_a_run_is_not_taken_for_dead_from_within_another_pid_namespace() -> None:
    """There its number is nobody's, though its cgroups and its book are to be seen."""
    claimed = claim()
    hosts = subprocess.Popen(["sleep", "600"])
    try:
        claimed.cgroup.make()
        claimed.cgroup.doors[0].write_text(str(hosts.pid))
        said = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-m", "harness", "heal"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert f"left hosts of process {os.getpid()} in pid namespace" in said
        assert "harness heal --force" in said
        assert claimed.directory.is_dir()
        assert hosts.poll() is None
    finally:
        claimed.release()
        hosts.kill()
        hosts.wait()
