"""A third-party client, unmodified, on stock asyncio calls inside the simulator."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.sim.bound_modules import bound_to
from harness.sim.clock import START_MS
from harness.sim.foreign_clients import ENVIRONMENT, ForeignClientError, foreign_clients
from harness.sim.simulation import Simulation
from tests.simulation.aiokafka_cluster_story import SENDS

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environment: str) -> list[str]:
    shown = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout.splitlines()


def told() -> list[str]:
    return run("-m", "tests.simulation.aiokafka_story", **ENVIRONMENT)


def told_of_cluster(*seeds: int) -> list[dict[str, Any]]:
    """The process sees to its environment itself."""
    lines = run("-m", "tests.simulation.aiokafka_cluster_story", *map(str, seeds))
    return [json.loads(line) for line in lines]


def check(story: dict[str, Any]) -> None:
    assert story["problems"] == []
    assert story["acknowledged"] > 0.9 * SENDS
    assert story["read_back"] >= story["acknowledged"]
    assert story["polled"] > 0.9 * SENDS
    assert {"InitProducerId", "Metadata", "Produce"} <= set(story["apis"])


def test_what_aiokafka_had_acknowledged_is_read_back_after_a_kill_and_a_partition() -> None:
    (first,) = told_of_cluster(1)
    check(first)
    assert told_of_cluster(1) == [first]


@pytest.mark.slow
def test_a_second_run_of_aiokafka_in_the_same_process_is_the_same() -> None:
    """The default lane has this of one broker, in the last line of the story below."""
    first, again = told_of_cluster(1, 1)
    assert again == first


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(2, 42, 10))
def test_forty_seeds_of_aiokafka(first: int) -> None:
    stories = told_of_cluster(*range(first, first + 10))
    for story in stories:
        check(story)
    assert len({story["digest"] for story in stories}) == 10
    assert told_of_cluster(*range(first, first + 10)) == stories


def test_aiokafka_produces_and_consumes_and_every_run_of_a_seed_is_the_same() -> None:
    first, again, other = told()
    assert {"Produce", "Fetch", "InitProducerId", "Metadata"} <= set(first.split())
    assert first == again
    assert first != other
    assert told() == [first, again, other]


def test_clock_and_dice_are_bound_for_a_while_only() -> None:
    def drawn() -> list[float]:
        with Simulation(1) as simulation, bound_to(simulation):
            assert time.time() == START_MS / 1000
            assert time.monotonic() == 0.0
            assert random.choice([1]) == 1
            return [random.random(), random.uniform(1, 2)]

    with Simulation(1) as simulation, bound_to(simulation):
        kept = time.time
    assert drawn() == drawn()
    assert time.time() > START_MS / 1000 + 1000
    assert kept() > START_MS / 1000 + 1000


def test_a_process_starts_itself_again_with_pinned_hashes() -> None:
    program = "from harness.sim.foreign_clients import prepare_process; prepare_process(); " + (
        "import sys; print(hash('a'), sys.argv[1])"
    )
    once = run("-c", program, "argument", PYTHONHASHSEED="1")
    assert once == run("-c", program, "argument", PYTHONHASHSEED="2")
    assert once[0].endswith(" argument")


def test_a_process_that_could_not_be_repeated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    with (
        Simulation(1) as simulation,
        pytest.raises(ForeignClientError, match="not started with PYTHONHASHSEED=0"),
        foreign_clients(simulation),
    ):
        pass


def test_a_client_that_was_imported_too_early_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "aiokafka", raising=False)
    with Simulation(1) as simulation:
        with foreign_clients(simulation):
            pass
        monkeypatch.setitem(sys.modules, "aiokafka", sys)
        with (
            pytest.raises(ForeignClientError, match="aiokafka was imported before"),
            foreign_clients(simulation),
        ):
            pass
