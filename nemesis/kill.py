"""kill: ends processes without a chance to clean up, and starts them again."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.schedule.faults import Fault, Kill
from nemesis.base import Moment, Scene
from nemesis.outage import bring_back, running, take_down, why_no_process
from nemesis.targets import check_target, resolve

_USUAL = ("one", "minority", "majority", "all", "leader", "controller")


@dataclass(frozen=True, slots=True)
class Kills:
    """Kills brokers (SIGKILL) and starts them again; what they wrote stays in the page cache."""

    name: str = "kill"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (Kill,)
    variants: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_target(self.target)

    def why_not(self, cluster: Cluster) -> str | None:
        return why_no_process(cluster)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        nodes = await running(scene, await resolve(scene, self.target, dice, among=_USUAL))
        return tuple(
            Kill(name=f"{moment.name}/{node}", at_ms=moment.at_ms, for_ms=moment.for_ms, node=node)
            for node in nodes
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, Kill)
        return await take_down(scene, fault.node)

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, Kill)
        await bring_back(scene, fault.node, fault)
