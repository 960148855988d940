"""A system of a plugin, with a protocol of its own, on trial: what holds, and what is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.commands import Said, harness

PLUGIN = Path(__file__).parents[2] / "docs" / "examples" / "tiny_log.py"
pytestmark = pytest.mark.slow
TINY = ("--plugin", str(PLUGIN), "--system", "tiny-log", "--nodes", "1", "--concurrency", "10")


def put_on_trial(directory: Path, *words: str) -> Said:
    quick = ("--on", "netns", "-w", "queue", "--rate", "300", "--seed", "1", "--json")
    return harness("test", *TINY, *quick, *words, cwd=directory)


def test_kills_and_partitions_cost_the_example_nothing(tmp_path: Path) -> None:
    words = ("--nemesis", "kill,partition", "--time-limit", "8", "--nemesis-interval", "4")
    said = put_on_trial(tmp_path, *words)
    assert said.exit_code == 0, str(said)
    figures = said.results["figures"]
    struck = {each["nemesis"] for each in figures["faults"] if "proof" in each}
    assert struck == {"kill", "partition"}
    assert figures["calm"]["not_rotated"].startswith("tiny-log has no leaders to move")
    assert len(figures["calm"]["writes"]["took_s"]) == figures["calm"]["partitions"] == 8
    assert f"--plugin {PLUGIN}" in said.results["command"]
    run = tmp_path / "store" / "latest"
    assert (run / "n1" / "broker.log").exists()
    assert not (run / "cluster.jsonl").exists()


@pytest.mark.parametrize("fsync", ["false", "true"])
def test_a_loss_of_power_finds_what_was_not_synced(tmp_path: Path, fsync: str) -> None:
    words = ("--nemesis", "power", "--broker-config", f"fsync={fsync}", "--nemesis-interval", "3")
    said = put_on_trial(tmp_path, *words, "--time-limit", "8")
    found = {each for check in said.results["checks"] for each in check["anomalies"]}
    if fsync == "true":
        assert said.exit_code == 0, str(said)
    else:
        assert said.exit_code == 1, str(said)
        assert "lost-write" in found or "inconsistent-offsets" in found
