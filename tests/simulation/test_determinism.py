"""One seed, one run: the same rows in processes with different hash seeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation import cluster_story, story

ROOT = Path(__file__).parents[2]


def told(module: str, *, hash_seed: int, first: int, last: int) -> list[str]:
    shown = subprocess.run(
        [sys.executable, "-m", f"tests.simulation.{module}", str(first), str(last)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout.splitlines()


@pytest.mark.parametrize("module", ["story", "cluster_story"])
def test_the_same_seed_gives_the_same_run_whatever_the_hash_seed(module: str) -> None:
    runs = told(module, hash_seed=1, first=0, last=2)
    assert runs[:1] == told(module, hash_seed=4242, first=0, last=1)
    assert len(set(runs)) == 2


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(0, 200, 50))
@pytest.mark.parametrize("module", ["story", "cluster_story"])
def test_two_hundred_seeds_give_the_same_runs_whatever_the_hash_seed(
    module: str, first: int
) -> None:
    runs = told(module, hash_seed=1, first=first, last=first + 50)
    assert runs == told(module, hash_seed=4242, first=first, last=first + 50)
    assert len(set(runs)) == 50


def test_a_second_run_in_the_same_process_is_the_same() -> None:
    assert story.digest(5) == story.digest(5)
    assert cluster_story.digest(5) == cluster_story.digest(5)


def test_the_story_has_a_bit_of_everything() -> None:
    simulation, writers = story.tell(1)
    with simulation:
        kinds = {row.kind for row in simulation.trace.rows()}
    assert {"send", "deliver", "connect", "crash", "start", "reset", "pause", "resume"} <= kinds
    assert all(len(each.acknowledged) > 100 for each in writers)
    assert all(each.lost_connections for each in writers)


def test_the_story_of_a_cluster_has_elections_and_changes_of_leaders() -> None:
    stage, seen = cluster_story.tell(1)
    with stage.simulation:
        assert {"vote", "role", "append", "high_watermark", "isr", "fault"} <= set(seen.kinds)
    assert seen.acknowledged > 100
    assert seen.read > 100
