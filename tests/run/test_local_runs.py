"""Runs on local processes: clients that die are replaced, and both libraries come to a verdict."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.history.history import History
from tests.run.commands import HARNESS, harness

ROOT = Path(__file__).parents[2]
QUICK = ("--on", "local", "--nodes", "3", "--concurrency", "3", "--rate", "60")


def workers_of(pid: int) -> list[int]:
    """Its children that are client workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == pid and b"harness.run.worker" in command:
            found.append(int(path.name))
    return found


@pytest.mark.parametrize("client", ["confluent", pytest.param("aiokafka", marks=pytest.mark.slow)])
@pytest.mark.long
def test_a_kill_is_survived(tmp_path: Path, client: str) -> None:
    # One node at a time: some seeds kill all of them for most of the run, and then, where the
    # machine is busy, too few writes go well for a verdict.
    words = ("--client", client, "--nemesis", "kill:one", "--nemesis-interval", "4", "--seed", "1")
    said = harness(
        "test", *QUICK, *words, "--rate", "200", "--time-limit", "8", "--json", cwd=tmp_path
    )
    assert said.exit_code == 0, str(said)
    assert any("proof" in each for each in said.results["figures"]["faults"])
    writes = said.results["figures"]["calm"]["writes"]
    assert len(writes["took_s"]) == said.results["figures"]["calm"]["partitions"] == 8, writes
    told = [
        json.loads(line)
        for line in (tmp_path / "store" / "latest" / "cluster.jsonl").read_text().splitlines()
    ]
    assert {each["key"] for each in told if "key" in each} >= {"queue1-0", "queue2-3"}
    assert any(each.get("epoch", 0) > 0 and len(each.get("isr", "abc")) < 3 for each in told)
    assert any("controller" in each for each in told)
    assert "changes of leader" in (tmp_path / "store" / "latest" / "report.html").read_text()


@pytest.mark.long
def test_a_client_that_is_killed_goes_on_as_another_process(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*HARNESS, "test", *QUICK, "--time-limit", "8"],
        cwd=tmp_path,
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
        time.sleep(1)
        victims = workers_of(process.pid)
        assert len(victims) == 3
        os.kill(victims[0], signal.SIGKILL)
        out, _ = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, out
    history = list(History.load(tmp_path / "store" / "latest"))
    processes = {op.process for op in history}
    assert len([each for each in processes if 3 <= each < 6]) >= 1
    sent = [op.value[0][2] for op in history if op.f == "send" and op.type == "invoke"]
    assert len(sent) == len(set(sent))


# The default lane has the same faults on worker processes, in test_worker_clients.py.
@pytest.mark.slow
def test_clients_are_killed_and_paused_on_purpose(tmp_path: Path) -> None:
    words = ("--nemesis", "client:kill@c1,client:pause@c2", "--nemesis-interval", "4")
    said = harness("test", *QUICK, *words, "--time-limit", "8", "--json", cwd=tmp_path)
    assert said.exit_code == 0, str(said)
    proofs = {each["kind"]: each["proof"] for each in said.results["figures"]["faults"]}
    assert re.fullmatch(r"process \d+ of c1 has ended", proofs["kill_client"])
    assert re.fullmatch(r"every thread of c2 is stopped, process \d+", proofs["pause_client"])
    # They were not killed by anybody else.
    assert said.results["figures"]["client_deaths"] == 0
    history = list(History.load(tmp_path / "store" / "latest"))
    # Client 1 was process 0, and goes on as another of those that are its own.
    assert {op.process for op in history if op.process > 0 and op.process % 3 == 0}
    begun = [op.index for op in history if op.process == 0 and op.type == "invoke"]
    ended = [op for op in history if op.process == 0 and op.type != "invoke"]
    assert len(begun) == len(ended)
    assert all(op.error == "the client's process ended" for op in ended if op.type == "info")


def test_a_fault_that_cannot_be_had_here_is_refused_with_a_sentence(tmp_path: Path) -> None:
    said = harness("test", "--on", "local", "--nemesis", "partition", cwd=tmp_path)
    assert said.exit_code == 254
    assert "partition is unavailable with --on local" in said.error
    assert "Traceback" not in said.error
    assert said.error.splitlines()[-1].startswith("run it again with: harness test")
