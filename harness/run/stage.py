"""Where a run takes place: its cluster, its clients and its clock, here or in a simulated world.

A run is the same code on both. What differs is made here, once, from the plan.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TextIO, TypeVar

from checkers.verdict import Verdict
from harness.client.base import ClientSettings
from harness.cluster import Cluster, Node, Place, System
from harness.cluster.kafka_systems import RACKS
from harness.cluster.parts import offered
from harness.errors import EnvironmentFailure, UsageFailure
from harness.plugin_objects import require_members
from harness.registry import REGISTRY, found
from harness.run.clients import Clients
from harness.run.interrupts import INTERRUPTS
from harness.run.plan import Plan
from harness.run.tally import Tally
from harness.run.watchdog import Watchdog
from harness.schedule.faults import TamperMessages
from harness.schedule.schedule import Schedule

_Result = TypeVar("_Result")
_Answer = TypeVar("_Answer")


class Stage(Protocol):
    cluster: Cluster
    has_trace: bool
    """Whether everything that happens is written down anyway."""
    salvage: Callable[[], None]
    """What to do when the run is broken off without a chance to end: keep what there is."""

    def now_ns(self) -> int: ...

    def clients(self, settings: ClientSettings, tally: Tally) -> Clients: ...

    async def think(self, question: Callable[[], _Answer]) -> _Answer:
        """A long computation, beside the run where that is possible."""
        ...


@dataclass(frozen=True, slots=True)
class Played(Generic[_Result]):
    result: _Result | None
    """None if the run was broken off by a finding."""
    verdicts: tuple[Verdict, ...] = ()
    """What the stage itself has to say."""


def racks_of(plan: Plan) -> dict[Node, str]:
    return {f"n{number + 1}": RACKS[number % len(RACKS)] for number in range(plan.nodes)}


def nothing() -> None:
    """Nothing has been made yet that would have to be kept."""


class RealStage:
    has_trace = False

    def __init__(self, plan: Plan, directory: Path, cluster: Cluster) -> None:
        self._plan = plan
        self._directory = directory
        self.cluster = cluster
        self.salvage: Callable[[], None] = nothing

    def now_ns(self) -> int:
        return time.monotonic_ns()

    async def think(self, question: Callable[[], _Answer]) -> _Answer:
        return await asyncio.to_thread(question)

    def clients(self, settings: ClientSettings, tally: Tally) -> Clients:
        from harness.run.worker_clients import WorkerClients

        return WorkerClients(
            self.cluster.place, self._plan, settings, tally, self._directory / "clients"
        )


def play(
    plan: Plan,
    directory: Path,
    act: Callable[[Stage], Coroutine[Any, Any, _Result]],
    log: TextIO,
) -> Played[_Result]:
    """Carries out `act` on the plan's stage; a loop that stands still writes stacks to `log`."""
    if plan.on == "sim":
        from harness.run.sim_stage import play_in_simulation

        return play_in_simulation(plan, directory, act)
    place = make_place(plan, directory)
    system = make_system(plan, place)
    cluster = Cluster(system, count=plan.nodes)
    stage = RealStage(plan, directory, cluster)

    return Played(INTERRUPTS.run(act(stage), lambda loop: Watchdog(log, loop)))


def _tampers_with_messages(plan: Plan) -> bool:
    """Whether the schedule that the plan plays has faults of single messages."""
    if plan.schedule is None:
        return False
    faults = Schedule.load(Path(plan.schedule)).faults
    return any(isinstance(each, TamperMessages) for each in faults)


def make_place(plan: Plan, directory: Path) -> Place:
    # The proxy costs speed, so it stands there only for those who want it.
    wire = "wire" in plan.faults or _tampers_with_messages(plan)
    match plan.on:
        case "netns":
            from harness.cluster.netns.place import NetnsPlace

            return NetnsPlace(directory / "hosts", wire=wire)
        case "local":
            from harness.cluster.local import LocalPlace

            return LocalPlace(directory / "hosts", wire=wire)
        case "ssh":
            from harness.cluster.inventory import load_inventory
            from harness.cluster.ssh.place import SshPlace

            if plan.inventory is None:
                raise EnvironmentFailure(
                    "--on ssh needs --inventory FILE; vagrant/inventory.example.toml is an example"
                )
            return SshPlace(load_inventory(Path(plan.inventory)))
        case "running":
            from harness.cluster.running import RunningPlace

            return RunningPlace(plan.bootstrap_servers or "")
        case "vagrant":
            from harness.cluster.vagrant import vagrant_place

            return vagrant_place()
        case _:
            raise AssertionError(f"unknown place {plan.on!r}")


def make_system(plan: Plan, place: Place) -> System:
    kind = REGISTRY.systems[plan.system]
    system: System = found(kind.make)(place, plan.broker_config)
    require_members(system, System, f"system {plan.system}", declared_in="harness/cluster/base.py")
    if offered(system) != kind.parts:
        said, has = sorted(kind.parts), sorted(offered(system))
        raise UsageFailure(f"system {plan.system} is registered with parts {said} but offers {has}")
    return system
