"""`harness test` on hosts of this machine: its verdict, and nothing left, however it ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.netns import rounds, traces
from tests.netns.test_traces import left
from tests.run.commands import HARNESS, harness

ROOT = Path(__file__).parents[2]
QUICK = ("--nodes", "3", "--concurrency", "4", "--rate", "100", "--nemesis-interval", "4")


@contextmanager
def begun(
    directory: Path, *words: str, command: Sequence[str] = HARNESS
) -> Iterator[subprocess.Popen[str]]:
    """A run whose load is under way."""
    process = subprocess.Popen(
        # Tests that run in the background have SIGINT ignored, and children inherit that.
        ["env", "--default-signal=INT", *command, "test", *QUICK, *words],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("load:"):
                break
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.long
def test_a_partition_is_survived_and_nothing_is_left(tmp_path: Path) -> None:
    network = traces.root_network()
    # A fault that outlasts elections on a busy machine, and clients that are not all at one leader:
    # a run without a write under its fault is unknown.
    longer = ("--time-limit", "12", "--nemesis-interval", "6", "--concurrency", "8")
    with begun(tmp_path, "--nemesis", "partition", *longer) as process:
        namespaces = traces.namespaces_of(process.pid)
        # While it is up every kind of trace is there, so what is looked for later can be found.
        there = {each.split()[0] for each in traces.of_process(process.pid, tmp_path, namespaces)}
        assert there == {"cgroup", "disk", "entry", "loop", "mount", "namespace", "process"}
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0, out
        assert left(process.pid, tmp_path, namespaces) == []
    assert out.splitlines()[-1].startswith("run it again with: harness test")
    latest = tmp_path / "store" / "latest"
    assert (latest / "n1" / "data.tar.zst").stat().st_size > 0
    led = (latest / "cluster.jsonl").read_text()
    assert '"key": "queue1-0"' in led
    assert '"controller": "n' in led
    assert traces.root_network() == network
    again = harness("analyze", "latest", "--json", cwd=tmp_path)
    assert again.exit_code == 0, again
    assert again.results["valid"] is True


def test_ctrl_c_heals_and_leaves_a_history(tmp_path: Path) -> None:
    with begun(tmp_path, "--nemesis", "partition", "--time-limit", "60") as process:
        namespaces = traces.namespaces_of(process.pid)
        assert namespaces
        time.sleep(2)  # some operations, and perhaps a fault
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert out.splitlines()[-1].startswith("run it again with: harness test")
        assert left(process.pid, tmp_path, namespaces) == []
    judged = harness("analyze", "latest", "--json", cwd=tmp_path)
    assert judged.exit_code == 2, judged
    assert judged.results["doubts"][0]["kind"] == "no-end"


STANDS_STILL = """
import asyncio, os, sys, threading
from harness.cli import main
from harness.run.run import _Run

async def stands_still(*_):
    # As the lock of a buffer that another thread reads into: no signal wakes who waits for it.
    pipe = open(os.pipe()[0], "rb")
    threading.Thread(target=pipe.readline, daemon=True).start()
    await asyncio.sleep(0.1)
    print("load: none", flush=True)
    pipe.close()

_Run._load = stands_still
main(sys.argv[1:])
"""


def test_a_second_ctrl_c_ends_and_heals_a_run_whose_loop_stands_still(tmp_path: Path) -> None:
    command = (sys.executable, "-c", STANDS_STILL)
    with begun(tmp_path, "--nemesis", "power", command=command) as process:
        namespaces = traces.namespaces_of(process.pid)
        log = tmp_path / "store" / "current" / "harness.log"
        until_s = time.monotonic() + 30
        while "has been blocked" not in log.read_text():
            assert time.monotonic() < until_s, "the watchdog says nothing"
            time.sleep(0.1)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130, out
        assert out.splitlines()[-1] == "interrupted twice: ended by force"
        assert left(process.pid, tmp_path, namespaces) == []
    assert "in stands_still" in (tmp_path / "store" / "current" / "harness.log").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("again_after_s", [None, 0.05, 2.0])
def test_ctrl_c_at_any_moment_heals_and_ends_with_130(
    tmp_path: Path, again_after_s: float | None
) -> None:
    """While it loads, boots, is under load, in the calm phase, and while it is judged."""
    dice = random.Random(random.SystemRandom().getrandbits(32))
    for number in range(8):
        directory = tmp_path / str(number)
        directory.mkdir()
        run = rounds.started(directory, *QUICK, "--nemesis", "all", "--time-limit", "6")
        rounds.watched_for(run, dice.uniform(0, 40))
        was_over = run.process.poll() is not None
        run.process.send_signal(signal.SIGINT)
        if again_after_s is not None:
            time.sleep(again_after_s)
            run.process.send_signal(signal.SIGINT)
        code = run.process.wait(120)
        out = (directory / "out.txt").read_text()
        assert was_over or code == 130 or "run it again" in out, out
        assert code in (0, 1, 2, 130), out
        assert "StopIteration" not in out
        assert "Traceback" not in out
        # Their numbers may be another run's by now; they live by processes, which are looked for.
        run.namespaces = frozenset()
        assert run.left() == [], out


def test_after_kill_9_heal_leaves_nothing_and_the_history_can_be_judged(tmp_path: Path) -> None:
    with begun(tmp_path, "--nemesis", "partition,kill", "--time-limit", "60") as process:
        namespaces = traces.namespaces_of(process.pid)
        time.sleep(3)
        process.kill()
        process.wait()
        healed = harness("heal", cwd=tmp_path)
        assert healed.exit_code == 0, healed
        assert left(process.pid, tmp_path, namespaces) == []
    judged = harness("analyze", "current", "--json", cwd=tmp_path)
    assert judged.exit_code == 2, judged
    assert judged.results["checks"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_at_any_moment(tmp_path: Path) -> None:
    for number in range(5):
        directory = tmp_path / str(number)
        directory.mkdir()
        moment_s = random.uniform(0, 30)
        words = (*QUICK, "--nemesis", "partition,kill", "--time-limit", "60")
        assert rounds.killed_and_healed(directory, moment_s, words) == [], moment_s


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_is_valid_quick_and_leaves_nothing(tmp_path: Path) -> None:
    assert rounds.demo(tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, 6))
def test_lost_writes_are_found_where_nothing_better_was_promised(tmp_path: Path, seed: int) -> None:
    words = "--broker-config unclean.leader.election.enable=true --acks 1 --nemesis kill,partition"
    said = harness(
        *("test", *words.split(), "--seed", str(seed), "--json"), cwd=tmp_path, within_s=300
    )
    assert said.exit_code == 1, said
    types = {name for each in said.results["checks"] for name in each["anomaly-types"]}
    assert "lost-write" in types
