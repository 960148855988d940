"""compact: forces compacted topics to roll and compact now, under load.

A broker may compact a topic at any moment, which would not prove anything about this fault. So the
nemesis first forbids compaction by configuration. Once no log has shrunk for longer than a regular
compaction takes to begin, it requests one: a log that shrinks then shrinks because of the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import Node
from harness.cluster.parts import Part, the
from harness.schedule.faults import CompactNow, Fault
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene, missed

_WAIT = {
    # Longer than any clock fault advances a clock.
    "min.compaction.lag.ms": str(7 * 24 * 3_600_000),
    "max.compaction.lag.ms": None,
}
_AT_ONCE = {
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.0",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
}
_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.1
_QUIET_S = 2.0
_USUAL_MAX_S = 5.0
_STILL_WITHIN_S = 20.0
"""Time for compactions that were already running."""
_ROLLED_WITHIN_S = 3.0
"""Time under load until brokers apply the configuration and segment.ms rolls a segment."""
_BEGUN_WITHIN_S = 5.0
"""Time from the begin of the load to the first fault, at the default interval."""

Sizes = dict[tuple[Node, int], int]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Forces the compaction of compacted topics now, by their configuration."""

    name: str = "compact"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (CompactNow,)
    variants: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[Part]] = frozenset({"topics", "leaders", "stored", "retention"})

    def __post_init__(self) -> None:
        if self.target:
            raise ValueError(
                "compact takes no target: it strikes any compacted topic of the workload"
            )

    def why_not(self, cluster: Cluster) -> str | None:
        return None

    def why_never(self, ground: Ground) -> str | None:
        compacted = [each for each in ground.topic_configs.values() if is_compacting(each)]
        if not compacted:
            return "the workload has no compacted topic; try -w register, which has one"
        needed_s = min(map(_quiet_s, compacted)) + _ROLLED_WITHIN_S
        if ground.length_ms >= needed_s * 1000:
            return None
        return (
            f"it needs {needed_s:g} s of load to tell its own compaction from a regular one; "
            f"try --time-limit {ceil(needed_s + _BEGUN_WITHIN_S)}"
        )

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
        """Proof: no log shrank before the compaction was requested, and one shrank after it."""
        assert isinstance(fault, CompactNow)
        system, topic = scene.cluster.system, fault.topic
        await the(system.topics).alter_topic(topic, _WAIT)
        logs = _Logs(scene, topic)
        quiet_s = _quiet_s(scene.topic_configs.get(topic, {}))
        if not await logs.stand_still(quiet_s):
            why = f"{topic} was compacted although min.compaction.lag.ms forbids it"
            raise missed(scene, fault, why)
        await the(system.topics).alter_topic(topic, _AT_ONCE)
        given_s = asyncio.get_running_loop().time()
        shrunk = await logs.shrink(max(_WITHIN_S, (fault.for_ms or 0) / 1000))
        if not shrunk and logs.grown_s < given_s + _ROLLED_WITHIN_S:
            # Kafka rolls a segment on a write, and does not compact the active segment.
            raise NothingToStrikeError(
                f"no write to {topic} came later than {_ROLLED_WITHIN_S:g} s after the compaction "
                "was requested, so its segment did not roll"
            )
        if not shrunk:
            raise missed(scene, fault, f"no log of {topic} shrank")
        return f"{shrunk}; none had shrunk for {quiet_s:g} s before the compaction was requested"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        assert isinstance(fault, CompactNow)
        if any(other.topic == fault.topic for other in scene.others(fault, CompactNow)):
            return
        said = scene.topic_configs.get(fault.topic, {})
        await the(scene.cluster.system.topics).alter_topic(
            fault.topic, {name: said.get(name) for name in _AT_ONCE}
        )


def is_compacted(scene: Scene, topic: str) -> bool:
    return is_compacting(scene.topic_configs.get(topic, {}))


def is_compacting(configs: Mapping[str, str]) -> bool:
    return "compact" in configs.get("cleanup.policy", "")


def _quiet_s(configs: Mapping[str, str]) -> float:
    """Seconds without a shrinking log before the request: longer than a regular compaction takes.

    By the topic's segment.ms a record waits that long before it can be compacted.
    """
    own_s = float(configs.get("segment.ms", 0)) / 1000
    return _QUIET_S + min(_USUAL_MAX_S, own_s)


class _Logs:
    """Sizes of a topic's logs on their leaders; a follower may truncate for other reasons."""

    def __init__(self, scene: Scene, topic: str) -> None:
        self._scene = scene
        self._topic = topic
        self._largest: Sizes = {}
        self._starts: Mapping[int, int] = {}
        self.grown_s = 0.0
        """Loop time at which a log was last seen to have grown."""

    async def stand_still(self, for_s: float) -> bool:
        """Whether no log shrinks for `for_s` seconds, within a bounded wait."""
        loop = asyncio.get_running_loop()
        quiet_since_s = loop.time()
        until_s = quiet_since_s + _STILL_WITHIN_S + for_s
        self._starts = await the(self._scene.cluster.system.retention).log_starts(self._topic)
        while loop.time() < until_s:
            if await self._shrunk():
                quiet_since_s = loop.time()
            elif loop.time() - quiet_since_s >= for_s:
                return True
            await asyncio.sleep(_LOOK_EVERY_S)
        return False

    async def shrink(self, within_s: float) -> str:
        """Which log shrank and by how much; empty if none did in time."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + within_s
        while loop.time() < until_s:
            if shrunk := await self._shrunk():
                return shrunk
            await asyncio.sleep(_LOOK_EVERY_S)
        return ""

    async def _shrunk(self) -> str:
        """The first log that shrank, unless its beginning was deleted."""
        before, starts = self._largest, self._starts
        sizes = await self._sizes()
        if any(size > before.get(place, size) for place, size in sizes.items()):
            self.grown_s = asyncio.get_running_loop().time()
        # A node that did not lead at the last look may have truncated since.
        self._largest = {place: max(size, before.get(place, 0)) for place, size in sizes.items()}
        smaller = [place for place, size in sizes.items() if size < before.get(place, 0)]
        if not smaller:
            return ""
        self._largest |= {place: sizes[place] for place in smaller}
        self._starts = await the(self._scene.cluster.system.retention).log_starts(self._topic)
        for node, index in smaller:
            if self._starts.get(index, 0) == starts.get(index, 0):
                was, now = before[node, index], sizes[node, index]
                return f"{self._topic}-{index} on {node} shrank from {was:,} to {now:,} bytes"
        return ""

    async def _sizes(self) -> Sizes:
        sizes: Sizes = {}
        stored = the(self._scene.cluster.system.stored)
        for found in await self._scene.cluster.partitions(self._topic):
            if found.leader is not None:
                segments = await stored.segments(self._topic, found.leader)
                sizes[found.leader, found.index] = sum(segments.get(found.index, ()))
        return sizes
