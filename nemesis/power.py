"""power: hosts that lose power, and with it all unsynced writes."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import Node
from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import the
from harness.schedule.faults import Fault, PowerLoss
from nemesis.base import Ground, Moment, Scene
from nemesis.budget import affordable, why_never_affordable
from nemesis.outage import (
    ONE_NODE,
    OfProcesses,
    bring_back,
    each_by_itself,
    present,
    why_no_process,
)


class PowerLosses(OfProcesses):
    """Cuts the power of hosts: their processes end, and unsynced writes are lost."""

    kinds: ClassVar[tuple[type[Fault], ...]] = (PowerLoss,)

    def why_not(self, cluster: Cluster) -> str | None:
        if cluster.disk is None:
            return cluster.why_not("disk")
        return cluster.disk.why_not("power") or why_no_process(cluster)

    def why_never(self, ground: Ground) -> str | None:
        reason = OfProcesses.why_never(self, ground)
        return reason if ground.flushes else reason or why_never_affordable(ground)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        nodes = await self._struck(scene, dice, ONE_NODE)
        return each_by_itself(PowerLoss, await affordable(scene, nodes, dice), moment)

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, PowerLoss)
        return await cut_power(scene, fault.node)

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, PowerLoss)
        if any(other.node == fault.node for other in scene.others(fault, PowerLoss)):
            return
        await give_power(scene, fault.node)
        await bring_back(scene, fault.node, fault)


async def cut_power(scene: Scene, node: Node) -> str:
    """Proof: the process has ended and, if the place has a network, the host is unreachable."""
    process, network = await present(scene, node), scene.cluster.network
    scene.damaged.add(node)
    async with scene.links:
        await the(scene.cluster.disk).lose_power(node)
        if await process.is_running():
            raise FaultMissedError(f"the process of {node} still runs after the power loss")
        heard = (
            []
            if network is None
            else sorted(link for link in await network.reachable() if node in link)
        )
    if heard:
        source, target = heard[0]
        raise FaultMissedError(
            f"{node} is on the network after the power loss: {source} still reaches {target}"
        )
    return f"{node} is off: its process has ended and unsynced writes are lost"


async def give_power(scene: Scene, node: Node) -> None:
    async with scene.links:
        await the(scene.cluster.disk).restore_power(node)
