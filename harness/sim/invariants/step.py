"""What has changed since the last look, and what an invariant may ask about the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker.inspect import GROUPS_TOPIC, SeenShard, group_shard
from harness.sim.invariants.base import Key, Violation
from harness.sim.invariants.ghost import Conflict
from harness.sim.invariants.replica import Replica
from harness.sim.trace_sink import News

if TYPE_CHECKING:
    from harness.sim.invariants.scene import Scene

Place = tuple[str, str, int]
"""A node, a topic, a partition."""


@dataclass(slots=True)
class Step:
    scene: Scene
    news: list[News]
    row: int
    time_s: float
    replicas: dict[Place, Replica] = field(default_factory=dict)
    """Those that something happened to."""
    keys: dict[Key, None] = field(default_factory=dict)
    """All partitions that something happened to, on a node or in the metadata."""
    at_stake: dict[Key, None] = field(default_factory=dict)
    """Those of them where somebody may lack by now what was promised. A log that only grows, or
    hears of what others have committed, puts nothing at stake."""
    decided: list[Key] = field(default_factory=list)
    """Of which the controllers have decided something."""
    brokers: list[int] = field(default_factory=list)
    """Likewise."""
    conflict: Conflict | None = None
    _shards: dict[Place, SeenShard | None] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> Iterable[News]:
        return (each for each in self.news if each.kind in kinds)

    def replica_of(self, news: News) -> Replica | None:
        return self.replicas.get((news.node, news.topic, news.partition or 0))

    def coordinators(self) -> Iterator[tuple[Replica, SeenShard]]:
        """The settled group coordinators that something happened to. Looked at once in a step,
        for all invariants together."""
        for place, replica in self.replicas.items():
            if replica.topic != GROUPS_TOPIC:
                continue
            if place not in self._shards:
                process = self.scene.process(replica.node)
                shard = None if process is None else group_shard(process, replica.key[1])
                is_settled = shard is not None and shard.is_settled
                self._shards[place] = shard if is_settled else None
            shard = self._shards[place]
            if shard is not None:
                yield replica, shard

    def broken(self, invariant: str, sentence: str) -> Violation:
        return Violation(invariant, sentence, self.row, self.time_s)
