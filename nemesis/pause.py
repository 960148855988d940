"""pause: stops processes in the middle of what they do, and lets them go on."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import Fault, Pause
from nemesis.base import Moment, NothingToStrikeError, Scene, the
from nemesis.outage import running, why_no_process
from nemesis.targets import check_target, resolve

_USUAL = ("one", "minority", "majority", "all", "leader", "controller")


@dataclass(frozen=True, slots=True)
class Pauses:
    """Stops brokers (SIGSTOP) and lets them go on: they believe that no time has passed."""

    name: str = "pause"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (Pause,)
    variants: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_target(self.target)

    def why_not(self, cluster: Cluster) -> str | None:
        return why_no_process(cluster)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        nodes = await running(scene, await resolve(scene, self.target, dice, among=_USUAL))
        return tuple(
            Pause(name=f"{moment.name}/{node}", at_ms=moment.at_ms, for_ms=moment.for_ms, node=node)
            for node in nodes
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, Pause)
        node, process = fault.node, the(scene.cluster.process)
        if not await process.is_running(node):
            raise NothingToStrikeError(f"{node} is down, so it cannot be paused")
        await process.pause(node)
        if not await process.is_paused(node):
            raise FaultMissedError(f"{node} goes on though it was paused")
        return f"no thread of {node} runs"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, Pause)
        node, process = fault.node, the(scene.cluster.process)
        if any(other.node == node for other in scene.others(fault, Pause)):
            return
        await process.resume(node)
        if await process.is_paused(node):
            raise FaultMissedError(f"{node} stands still though it was resumed")
