"""compact: has compacted topics rolled and compacted now, in the middle of the load."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import Node
from harness.schedule.faults import CompactNow, Fault
from nemesis.base import Moment, NothingToStrikeError, Scene, missed

_AT_ONCE = {
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.0",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
}
_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.1

Sizes = dict[tuple[Node, int], int]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Forces the compaction of compacted topics now, by their configuration."""

    name: str = "compact"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (CompactNow,)
    variants: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.target:
            raise ValueError(
                "compact takes no target: it is for all compacted topics of a workload"
            )

    def why_not(self, cluster: Cluster) -> str | None:
        return None

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        compacted = [topic for topic in scene.topics if is_compacted(scene, topic)]
        if not compacted:
            raise NothingToStrikeError("the workload has no compacted topic")
        return (
            CompactNow(
                name=moment.name,
                at_ms=moment.at_ms,
                for_ms=moment.for_ms,
                topic=dice.choice(compacted),
            ),
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        """The proof: a log has become smaller, which nothing else does to a compacted one."""
        assert isinstance(fault, CompactNow)
        await scene.cluster.system.alter_topic(fault.topic, _AT_ONCE)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + max(_WITHIN_S, (fault.for_ms or 0) / 1000)
        largest: Sizes = {}
        while loop.time() < until_s:
            for place, size in (await _sizes(scene, fault.topic)).items():
                if size < largest.get(place, 0):
                    node, index = place
                    return (
                        f"{fault.topic}-{index} on {node} shrank from {largest[place]:,} "
                        f"to {size:,} bytes"
                    )
                largest[place] = size
            await asyncio.sleep(_LOOK_EVERY_S)
        raise missed(scene, fault, f"no log of {fault.topic} has become smaller")

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, CompactNow)
        if any(other.topic == fault.topic for other in scene.others(fault, CompactNow)):
            return
        said = scene.topic_configs.get(fault.topic, {})
        await scene.cluster.system.alter_topic(
            fault.topic, {name: said.get(name) for name in _AT_ONCE}
        )


def is_compacted(scene: Scene, topic: str) -> bool:
    return "compact" in scene.topic_configs.get(topic, {}).get("cleanup.policy", "")


async def _sizes(scene: Scene, topic: str) -> Sizes:
    """Of the logs on their leaders: a follower's may be cut for other reasons."""
    sizes: Sizes = {}
    for found in await scene.cluster.partitions(topic):
        if found.leader is not None:
            segments = await scene.cluster.system.segments(topic, found.leader)
            sizes[found.leader, found.index] = sum(segments.get(found.index, ()))
    return sizes
