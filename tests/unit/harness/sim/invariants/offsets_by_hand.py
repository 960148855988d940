"""A cluster at rest in which a group has committed three offsets, to be damaged by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from broker.coordination.shard import Shard
from broker.groups.machine import GroupMachine
from broker.groups.offsets import CommittedOffset
from broker.log.truncation import truncate_to
from broker.network.interface import Address
from broker.node import Node
from harness.native.client import Client
from harness.native.coordinator import GroupCoordinator
from harness.sim.invariants.base import Invariant
from harness.sim.nodes import PORT
from harness.sim.processes import SimProcess
from harness.sim.trace_sink import News
from tests.unit.harness.sim.invariants.cluster_by_hand import ClusterByHand, cluster_by_hand

OFFSETS = "__consumer_offsets"
GROUP = "g"


@dataclass
class OffsetsByHand:
    cluster: ClusterByHand
    held: dict[int, CommittedOffset] = field(default_factory=dict)
    """What the coordinator held after each commit."""

    async def _commit(self, offset: int) -> None:
        simulation = self.cluster.simulation
        client = Client(
            simulation.network.of("c1"),
            [Address(name, PORT) for name in self.cluster.cluster.nodes],
            random=simulation.decisions.random("client", "c1"),
            now_ms=lambda: 1_700_000_000_000,
        )
        coordinator = GroupCoordinator(client, GROUP)
        await client.retried(
            lambda: coordinator.commit(
                {("t", 0): offset}, generation=-1, member_id="", instance_id=None
            )
        )
        await client.close()

    def commit(self, offset: int) -> None:
        work = SimProcess(self.cluster.simulation, "c1").start(self._commit(offset))
        self.cluster.run(_result(work), for_s=20)
        found = self.shard.machine.offsets.find(GROUP, "t", 0)
        assert found is not None
        self.held[offset] = found

    def forget_the_last(self) -> None:
        """As if the last commit had never reached this coordinator, neither log nor memory."""
        self.cluster.run(truncate_to(self.shard.partition.log, 2))
        self.shard.machine.offsets._by_group[GROUP]["t"][0] = self.held[4]
        self.shard._end_offset = 2

    @property
    def node(self) -> Node:
        """The coordinator's."""
        nodes = (self.cluster.node(each) for each in (1, 2, 3))
        return next(each for each in nodes if each.groups.shards.find(0) is not None)

    @property
    def shard(self) -> Shard[GroupMachine]:
        shard = self.node.groups.shards.find(0)
        assert shard is not None
        return shard

    def set_in_memory(self, offset: int | None) -> None:
        """Past all rules, and without a word."""
        partitions = self.shard.machine.offsets._by_group[GROUP]["t"]
        if offset is None:
            del partitions[0]
        else:
            partitions[0] = CommittedOffset(offset, *partitions[0][1:])

    def tell(self, kind: str, offset: int | None = None, epoch: int | None = None) -> None:
        watch = self.cluster.watch
        watch.hear(News(0, f"n{self.node.node_id}", kind, OFFSETS, 0, offset, epoch, ""))
        watch.look()


async def _result(work: object) -> None:
    await work  # type: ignore[misc]


@contextmanager
def offsets_by_hand(invariant: Invariant) -> Iterator[OffsetsByHand]:
    properties = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "3",
    }
    with cluster_by_hand(invariant, properties) as cluster:
        made = OffsetsByHand(cluster)
        for offset in (3, 4, 5):
            made.commit(offset)
        yield made
