"""The bench runs through at a small scale; how fast anything is, is not asserted here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.bench


COMMANDS = sorted(
    path.name
    for path in (ROOT / "bench").glob("*.py")
    if "__main__" in path.read_text() and f"bench/{path.name} [--" in path.read_text()
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_bench_runs_by_its_path(command: str) -> None:
    """There lie scripts beside it that are named like packages of ours."""
    argv = [sys.executable, f"bench/{command}", "--help"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")


def run_bench(home: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "bench/broker.py", "--quick", *arguments]
    command += ["--storage", "tmpfs", "--seconds", "0.15"]
    command += ["--json", str(home / "result.json"), "--plot", str(home / "picture.png")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (home / "picture.png").read_bytes().startswith(b"\x89PNG")
    found: dict[str, Any] = json.loads((home / "result.json").read_text())
    return {**found, "printed": done.stdout}


@pytest.mark.long
def test_a_small_bench_has_every_row_and_every_figure_and_says_on_what_it_was_measured(
    tmp_path: Path,
) -> None:
    """A producing, a consuming and a waiting row, without Apache Kafka.

    This is one test, because the workers of a lane would each run the bench for their share of
    several.
    """
    rows = ("produce none", "consume none", "synchronous produce")
    found = run_bench(tmp_path, "--systems", "ours", "ceiling", "--rounds", "2", "--rows", *rows)
    check_rows(found["rows"], rounds=2)
    check_figures(found["rows"])
    for word in ("machine:", "kernel:", "librdkafka", "settings of both brokers:", "of ceiling"):
        assert word in found["printed"]


def check_rows(rows: list[dict[str, Any]], rounds: int) -> None:
    seen = {(one["row"], one["client"], one["system"]) for one in rows}
    assert {
        ("produce none", "librdkafka", "ours"),
        ("produce none", "librdkafka", "ceiling"),
        ("produce none, 1 MB batches", "raw", "ours"),
        ("consume none", "librdkafka", "ours"),
        ("consume none, 1 MB fetches", "raw", "ceiling"),
        ("synchronous produce", "raw", "ours"),
    } <= seen
    for one in rows:
        assert len(one["samples"]) == rounds
        assert all(sample["messages"] > 0 for sample in one["samples"])


def check_figures(rows: list[dict[str, Any]]) -> None:
    for one in rows:
        if one["system"] == "ours":
            assert one["figures"]["messages_per_s"] > 0
            assert one["figures"]["mb_per_s"] > 0
            assert one["of_ceiling"] > 0
        if one["judged"] == "latency":
            assert 0 < one["figures"]["p50_us"] <= one["figures"]["p99_us"]


@pytest.mark.long
def test_a_cluster_has_its_rows_with_the_figures_of_all_its_nodes(tmp_path: Path) -> None:
    found = run_bench(tmp_path, "--systems", "ours x3", "--rounds", "1", "--rows", "cluster of 3")
    rows = {one["row"]: one for one in found["rows"]}
    assert set(rows) == {"cluster of 3, acks=all, none", "cluster of 3, acks=all, lz4"}
    for one in rows.values():
        assert (one["system"], one["client"]) == ("ours x3", "librdkafka")
        assert all(sample["messages"] > 0 for sample in one["samples"])
    plain = rows["cluster of 3, acks=all, none"]["figures"]
    assert plain["stored_ratio"] > 3, "each of the three nodes stores every message"
    assert plain["server_rss_mb"] > 3 * 20, "there are three processes"
    assert "processes: 3" in found["printed"]
