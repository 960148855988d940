"""A third-party client, unmodified, on stock asyncio calls inside the simulator."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from harness.sim.bound_modules import bound_to
from harness.sim.clock import START_MS
from harness.sim.simulation import Simulation

ROOT = Path(__file__).parents[2]


def told() -> list[str]:
    shown = subprocess.run(
        [sys.executable, "-m", "tests.simulation.aiokafka_story"],
        cwd=ROOT,
        env={
            **os.environ,
            "AIOKAFKA_NO_EXTENSIONS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(ROOT),
        },
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout.splitlines()


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
