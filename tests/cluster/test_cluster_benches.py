"""The benches on real clusters, at a small scale: they run, and print what they are asked for."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import acks, failover, group_failover, partitions

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.clients, pytest.mark.bench]


async def test_acks_prints_both_throughputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    chosen = argparse.Namespace(count=3000, rounds=1, directory=tmp_path, json=figures)
    assert await acks.measure(chosen) == 0
    printed = capsys.readouterr().out
    assert "3,000 messages of 100 bytes" in printed
    assert "acks=1" in printed
    assert "acks=all has" in printed
    for series in json.loads(figures.read_text()):
        assert series["count"] == 3000
        assert all(seconds > 0 for seconds in series["seconds"])


@pytest.mark.slow
async def test_failover_prints_three_series(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    chosen = argparse.Namespace(defaults=True, rounds=1, directory=tmp_path, json=figures)
    assert await failover.measure(chosen) == 0
    assert "broker.session.timeout.ms=9000" in capsys.readouterr().out
    series = json.loads(figures.read_text())["series"]
    assert [len(one["seconds"]) for one in series] == [1, 1, 1]


@pytest.mark.slow
async def test_partitions_prints_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    chosen = argparse.Namespace(count=30, many=False, directory=tmp_path, json=figures)
    assert await partitions.measure(chosen) == 0
    assert "30 partitions on 3 nodes" in capsys.readouterr().out
    found = json.loads(figures.read_text())
    assert found["partitions"] == 30
    assert found["held"]["with all partitions"]["n1"]["open_files"] > 30


@pytest.mark.slow
def test_groups_prints_every_row(tmp_path: Path) -> None:
    """In a process of its own, because the bench pins itself to a CPU."""
    figures = tmp_path / "figures.json"
    command = [sys.executable, "bench/groups.py", "--systems", "ours", "--rounds", "1"]
    command += ["--members", "50", "--seconds", "0.5", "--json", str(figures)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row["takings"]["ours"] for row in json.loads(figures.read_text())}
    for strategy in group_failover.STRATEGIES:
        assert f"{strategy}: pause of the others" in rows
    assert rows["eager: kill to served again"][0] > group_failover.SESSION_S / 2
    assert all(len(taken) == 1 for taken in rows.values())
    assert all(name in done.stdout for name in rows)
