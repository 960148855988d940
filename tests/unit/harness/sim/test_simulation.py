"""A failure that nobody took ends the run with its name, and one that somebody takes does not."""

from __future__ import annotations

import asyncio

import pytest

from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation, UncaughtError


async def fails() -> None:
    await asyncio.sleep(0.1)
    raise LookupError("nowhere")


async def forgotten(count: int) -> None:
    """Many more tasks follow, so that those that have ended are cleared away in between."""
    _ = asyncio.get_running_loop().create_task(fails())
    for _ in range(count):
        await asyncio.get_running_loop().create_task(asyncio.sleep(0.01))


@pytest.mark.parametrize("count", [20, 1000])
def test_a_task_that_failed_and_that_nobody_awaits_is_told(count: int) -> None:
    with Simulation(1) as simulation:
        process = SimProcess(simulation, "c1")

        async def main() -> None:
            await process.start(forgotten(count))

        with pytest.raises(UncaughtError, match=r"the first: fails of c1/1") as caught:
            simulation.run(main(), deadline_s=100)
        assert isinstance(caught.value.__cause__, LookupError)


def test_a_task_of_a_process_that_was_killed_since_is_told() -> None:
    with Simulation(1) as simulation:
        process = SimProcess(simulation, "c1")

        async def main() -> None:
            _ = process.start(forgotten(100))
            await asyncio.sleep(0.5)
            process.kill()

        with pytest.raises(UncaughtError, match="fails of c1/1"):
            simulation.run(main(), deadline_s=100)


def test_a_failure_that_somebody_takes_is_nobody_elses_business() -> None:
    with Simulation(1) as simulation:

        async def main() -> None:
            failing = asyncio.get_running_loop().create_task(fails())
            await asyncio.sleep(1)
            with pytest.raises(LookupError):
                await failing

        simulation.run(main(), deadline_s=100)


def test_a_failure_that_somebody_is_about_to_hear_of_is_not_told() -> None:
    with Simulation(1) as simulation:
        process = SimProcess(simulation, "c1")

        async def takes_it() -> None:
            with pytest.raises(LookupError):
                await asyncio.get_running_loop().create_task(fails())

        async def main() -> None:
            _ = process.start(takes_it())
            await asyncio.sleep(0.05)
            # From now on whoever waits for the failure does not run.
            failing = process.life
            assert failing is not None
            simulation.loop.call_later(0.05, simulation.loop.pause, failing)
            await asyncio.sleep(1)

        simulation.run(main(), deadline_s=100)
