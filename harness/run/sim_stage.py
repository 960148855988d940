"""A stage inside the simulator: the same run in virtual time, decided by the plan's seed alone.

Every invariant watches. One that breaks ends the run at once, and is a finding of its own beside
what the history shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from checkers.verdict import Anomaly, Validity, Verdict
from harness.client.base import Client, ClientSettings
from harness.cluster import Cluster
from harness.run.clients import Clients, unread
from harness.run.life import Life
from harness.run.outcome import BY_INVARIANTS
from harness.run.plan import Plan
from harness.run.stage import Played, Stage, broker_settings, nothing
from harness.run.tally import Tally
from harness.run.workload import workload_of
from harness.sim.invariants import invariants
from harness.sim.invariants.base import Cost, InvariantBroken
from harness.sim.invariants.watch import Watch
from harness.sim.nodes import SimCluster
from harness.sim.place import SimPlace
from harness.sim.processes import SimProcess
from harness.sim.sim_broker import SimBroker
from harness.sim.sim_client import SimClient
from harness.sim.simulation import Simulation
from harness.sim.trace_file import write_trace

_NS = 1_000_000_000
_BEYOND_LOAD_S = 900.0
"""For coming up, healing and reading back, in simulated seconds."""

_Result = TypeVar("_Result")
_Answer = TypeVar("_Answer")


class SimStage:
    has_trace = True

    def __init__(self, plan: Plan, simulation: Simulation) -> None:
        self._plan = plan
        self._simulation = simulation
        self.salvage: Callable[[], None] = nothing
        self.watch: Watch | None = None
        self._place = SimPlace(simulation)
        system = SimBroker(self._place, broker_settings(plan), on_made=self._watch)
        self.cluster = Cluster(system, count=plan.nodes)

    def _watch(self, cluster: SimCluster) -> None:
        self.watch = Watch(cluster, invariants(Cost.EXPENSIVE))

    def now_ns(self) -> int:
        return self._simulation.loop.now_ns

    async def think(self, question: Callable[[], _Answer]) -> _Answer:
        """Simulated time stands still meanwhile."""
        return question()

    def clients(self, settings: ClientSettings, tally: Tally) -> Clients:
        return SimClients(self._plan, self._simulation, settings, tally)


def play_in_simulation(
    plan: Plan, directory: Path, act: Callable[[Stage], Coroutine[Any, Any, _Result]]
) -> Played[_Result]:
    with Simulation(plan.seed) as simulation:
        stage = SimStage(plan, simulation)
        try:
            result = simulation.run(act(stage), deadline_s=plan.time_limit_s + _BEYOND_LOAD_S)
        except InvariantBroken as broken:
            stage.salvage()
            return Played(None, (_guilty(broken),))
        finally:
            write_trace(simulation.trace, directory / "trace.arrow")
        return Played(result, (_innocent(stage),))


def _guilty(broken: InvariantBroken) -> Verdict:
    violation = broken.violation
    anomaly = Anomaly(type=violation.invariant, ops=(), because=str(violation))
    return Verdict(checker=BY_INVARIANTS, validity=Validity.INVALID, anomalies=(anomaly,))


def _innocent(stage: SimStage) -> Verdict:
    looks = {} if stage.watch is None else stage.watch.looks
    if not any(looks.values()):
        return Verdict(
            checker=BY_INVARIANTS, validity=Validity.UNKNOWN, why="no invariant had anything to see"
        )
    return Verdict(checker=BY_INVARIANTS, validity=Validity.VALID, stats={"looks": looks})


class SimClock:
    def __init__(self, simulation: Simulation) -> None:
        self._loop = simulation.loop

    def now_ns(self) -> int:
        return self._loop.now_ns

    async def sleep_until_ns(self, moment_ns: int) -> None:
        await asyncio.sleep(max(0, moment_ns - self._loop.now_ns) / _NS)


class SimClients:
    """Each client is a process on a simulated host of its own."""

    deaths = 0

    def __init__(
        self, plan: Plan, simulation: Simulation, settings: ClientSettings, tally: Tally
    ) -> None:
        self._plan = plan
        self._clock = SimClock(simulation)
        self._hosts = [
            SimProcess(simulation, f"c{number + 1}") for number in range(plan.concurrency)
        ]
        workload = workload_of(plan)

        def made_for(number: int) -> Callable[[int], Client]:
            host = f"c{number + 1}"
            return lambda process: SimClient(simulation, host, settings, f"{host}-{process}")

        self._lives = [
            Life(number, plan.concurrency, workload, made_for(number), self._clock, tally.row)
            for number in range(plan.concurrency)
        ]

    async def open(self) -> None:
        await self._each(lambda life: life.open())

    async def load(self, for_s: float) -> None:
        plan, now_ns = self._plan, self._clock.now_ns()
        # Endless speed has no meaning where time does not pass by itself.
        interval_ns = int(plan.concurrency / (plan.rate or 1000.0) * _NS)
        end_ns = now_ns + int(for_s * _NS)
        await self._each(lambda life: life.load(now_ns, end_ns, interval_ns))

    async def drain(self, ends: Mapping[str, int], within_s: float) -> Mapping[str, int | None]:
        deadline_ns = self._clock.now_ns() + int(within_s * _NS)
        return unread(await self._each(lambda life: life.drain(ends, deadline_ns)), ends)

    def stop(self) -> None:
        for life in self._lives:
            life.stop()

    async def close(self) -> None:
        for host in self._hosts:
            host.kill()

    async def _each(self, act: Callable[[Life], Coroutine[Any, Any, _Result]]) -> list[_Result]:
        return await asyncio.gather(
            *(host.start(act(life)) for host, life in zip(self._hosts, self._lives, strict=True))
        )


def _check(clients: SimClients) -> Clients:
    """Has mypy hold it to what a run expects."""
    return clients
