"""The benches on real clusters, at a small scale: they run, and print what they are asked for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from bench import acks, failover, partitions

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
