"""A stage inside the simulator: the same run in virtual time, decided by the plan's seed alone.

Every invariant watches, unless the plan switches some off. One that breaks ends the run at once,
and is a finding of its own beside what the history shows.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from checkers.verdict import AT_S, Anomaly, Validity, Verdict
from harness.client.base import ClientSettings
from harness.cluster import Cluster
from harness.cluster.kafka_systems import broker_settings
from harness.run.clients import Clients
from harness.run.outcome import BY_INVARIANTS
from harness.run.plan import Plan
from harness.run.sim_clients import SimClients
from harness.run.stage import Played, Stage, nothing
from harness.run.tally import Tally
from harness.sim.invariants import invariants
from harness.sim.invariants.base import Cost, InvariantBroken
from harness.sim.invariants.watch import Watch
from harness.sim.node_logs import node_logs
from harness.sim.nodes import SimCluster
from harness.sim.place import SimPlace
from harness.sim.sim_broker import SimBroker
from harness.sim.simulation import Simulation
from harness.sim.trace_file import write_trace

_BEYOND_LOAD_S = 900.0
"""For coming up, healing and reading back, in simulated seconds."""

_ASKED = {"all": Cost.EXPENSIVE, "cheap": Cost.CHEAP, "off": None}

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
        system = SimBroker(self._place, broker_settings(plan.broker_config), on_made=self._watch)
        self.cluster = Cluster(system, count=plan.nodes)

    def _watch(self, cluster: SimCluster) -> None:
        cost = _ASKED[self._plan.invariants]
        if cost is not None:
            self.watch = Watch(cluster, invariants(cost))

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
    with node_logs(shown=False), Simulation(plan.seed) as simulation:
        stage = SimStage(plan, simulation)
        try:
            result = simulation.run(act(stage), deadline_s=plan.time_limit_s + _BEYOND_LOAD_S)
        except InvariantBroken as broken:
            stage.salvage()
            return Played(None, (_guilty(broken),))
        finally:
            write_trace(simulation.trace, directory / "trace.arrow")
        if plan.invariants == "off":
            return Played(result)
        return Played(result, (_innocent(stage),))


def _guilty(broken: InvariantBroken) -> Verdict:
    violation = broken.violation
    anomaly = Anomaly(
        type=violation.invariant,
        ops=(),
        because=violation.because,
        witness={AT_S: violation.time_s, "row": violation.row},
    )
    return Verdict(
        checker=BY_INVARIANTS, model=BY_INVARIANTS, validity=Validity.INVALID, found=(anomaly,)
    )


def _innocent(stage: SimStage) -> Verdict:
    looks = {} if stage.watch is None else stage.watch.looks
    if not any(looks.values()):
        return Verdict(
            checker=BY_INVARIANTS,
            model=BY_INVARIANTS,
            validity=Validity.UNKNOWN,
            why="no invariant had anything to check",
        )
    return Verdict(
        checker=BY_INVARIANTS, model=BY_INVARIANTS, validity=Validity.VALID, stats={"looks": looks}
    )
