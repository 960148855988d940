"""membership: removes a broker from the cluster, replicas first, and lets it join again."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from harness.cluster.errors import FaultMissedError, NotInTimeError
from harness.cluster.parts import Part
from harness.schedule.faults import BrokerLeaves, Fault
from nemesis import replicas
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene, missed
from nemesis.outage import ONE_NODE, OfProcesses, bring_back, stop


class MembershipFaults(OfProcesses):
    """Moves all replicas off a broker and removes it; then it joins again and gets them back."""

    kinds: ClassVar[tuple[type[Fault], ...]] = (BrokerLeaves,)
    needs: ClassVar[frozenset[Part]] = frozenset({"leaders", "reassignment"})

    def why_never(self, ground: Ground) -> str | None:
        if (reason := OfProcesses.why_never(self, ground)) is not None:
            return reason
        least, factor = max(1, ground.min_insync_replicas), ground.replication_factor
        if len(ground.nodes) > factor or factor > least:
            return None
        return (
            f"each of {len(ground.nodes)} nodes holds a replica that min.insync.replicas={least} "
            "needs; try a larger --nodes"
        )

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        nodes = await self._struck(scene, dice, ONE_NODE)
        if any(isinstance(each, BrokerLeaves) for each in scene.in_force.values()):
            raise NothingToStrikeError("another broker is leaving the cluster")
        node = dice.choice(nodes)
        before = await replicas.held_by(scene, node)
        after = replicas.without(before, node, scene.cluster.nodes, scene.min_insync_replicas, dice)
        return (
            BrokerLeaves(
                name=moment.name,
                at_ms=moment.at_ms,
                for_ms=moment.for_ms,
                node=node,
                before=before,
                after=after,
            ),
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, BrokerLeaves)
        node = fault.node
        try:
            await replicas.move(scene, fault.after)
        except NotInTimeError as late:
            raise missed(scene, fault, f"the replicas of {node} did not move: {late}") from None
        manner = await stop(scene, node)
        if await replicas.held_by(scene, node):
            raise FaultMissedError(f"{node} left the cluster and is still listed as a replica")
        return f"{node} is no longer a replica of its {len(fault.before)} partitions and {manner}"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, BrokerLeaves)
        await bring_back(scene, fault.node, fault)
        await replicas.move(scene, fault.before)
