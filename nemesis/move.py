"""move: gives partitions another leader while the current one is healthy."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.base import PartitionState
from harness.cluster.errors import NotInTimeError, RefusedError
from harness.cluster.parts import Part, the
from harness.cluster.waiting import wait_until
from harness.schedule.faults import Fault, MoveLeader
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene, missed
from nemesis.targets import NOTHING_COORDINATED, coordinated, coordinating

_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves leadership: another replica is made the preferred one, and elected. `coordinator` moves
    the coordinators of the workload's consumer groups and transactions."""

    name: str = "move"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (MoveLeader,)
    variants: ClassVar[tuple[str, ...]] = ("one", "all", "coordinator")
    needs: ClassVar[frozenset[Part]] = frozenset({"leaders", "elections", "reassignment"})

    def __post_init__(self) -> None:
        if self.target:
            raise ValueError("move takes no target; try move:one or move:all")

    def why_not(self, cluster: Cluster) -> str | None:
        return None

    def why_never(self, ground: Ground) -> str | None:
        if self.variant == "coordinator" and not (ground.groups or ground.transactional_ids):
            return NOTHING_COORDINATED
        if ground.replication_factor > 1:
            return None
        return "a partition with one replica has no other leader; try --replication-factor 3"

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        moves = [
            move
            for topic, found in await self._candidates(scene)
            if (move := _away_from_its_leader(topic, found, moment, dice)) is not None
        ]
        if not moves:
            raise NothingToStrikeError("no partition has a second replica in sync")
        return (dice.choice(moves),) if self.variant in ("", "one") else tuple(moves)

    async def _candidates(self, scene: Scene) -> list[tuple[str, PartitionState]]:
        if self.variant == "coordinator":
            found = {}
            for name in coordinated(scene):
                topic, partition = await coordinating(scene, name)
                found[topic, partition.index] = (topic, partition)
            return list(found.values())
        return [
            (topic, found)
            for topic in scene.topics
            for found in await scene.cluster.partitions(topic)
        ]

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, MoveLeader)
        system, before = scene.cluster.system, await _state(scene, fault)
        wanted = fault.replicas[0]
        if before.leader == wanted:
            raise NothingToStrikeError(f"{wanted} already leads {fault.topic}-{fault.partition}")
        if wanted not in before.isr:
            raise NothingToStrikeError(f"{wanted} is not in sync, so it cannot lead")
        await the(system.reassignment).reassign(fault.topic, fault.partition, fault.replicas)

        async def is_led() -> bool:
            try:
                await the(system.elections).elect(fault.topic, fault.partition)
            except RefusedError:
                return False  # for example, the new order is not known everywhere yet
            return (await _state(scene, fault)).leader == wanted

        try:
            await wait_until(is_led, within_s=_WITHIN_S, what=f"{wanted} leads", every_s=0.2)
        except NotInTimeError as late:
            raise missed(scene, fault, f"{fault.topic}-{fault.partition}: {late}") from None
        return f"{wanted} leads {fault.topic}-{fault.partition}; before, {before.leader} led it"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """Does nothing: a moved leadership is a healthy state."""


def _away_from_its_leader(
    topic: str, found: PartitionState, moment: Moment, dice: Random
) -> MoveLeader | None:
    others = [node for node in found.isr if node != found.leader]
    if found.leader is None or not others:
        return None
    first = dice.choice(others)
    rest = tuple(node for node in found.replicas if node != first)
    return MoveLeader(
        name=f"{moment.name}/{topic}-{found.index}",
        at_ms=moment.at_ms,
        for_ms=moment.for_ms,
        topic=topic,
        partition=found.index,
        replicas=(first, *rest),
    )


async def _state(scene: Scene, fault: MoveLeader) -> PartitionState:
    for found in await scene.cluster.partitions(fault.topic):
        if found.index == fault.partition:
            return found
    raise NothingToStrikeError(f"{fault.topic} has no partition {fault.partition}")
