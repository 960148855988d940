"""Three simulated nodes with one partition and a few records, to be damaged by hand."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from broker.metadata.changes import Change
from broker.network.interface import Address
from broker.node import Node
from broker.partition import Partition
from broker.protocol.records import Record, build_batch
from broker.quorum.metadata_log import TOPIC
from broker.quorum.replay import Applied
from harness.native.client import Client
from harness.sim.invariants.base import Invariant, InvariantBroken
from harness.sim.invariants.watch import Watch
from harness.sim.nodes import PORT, SimCluster
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation
from harness.sim.trace_sink import News

COUNT = 3
RECORDS = 4

_Result = TypeVar("_Result")


class ClusterByHand:
    """At rest when it is made: all replicas hold the records `0` to `RECORDS - 1`."""

    def __init__(
        self, simulation: Simulation, invariant: Invariant, properties: Mapping[str, str]
    ) -> None:
        self.simulation = simulation
        self.invariant = invariant
        self.cluster = SimCluster(simulation, COUNT, properties)
        self.watch = Watch(self.cluster, [invariant])

    async def begin(self) -> None:
        await self.cluster.start()
        await SimProcess(self.simulation, "c1").start(self._write())

    async def _write(self) -> None:
        client = Client(
            self.simulation.network.of("c1"),
            [Address(name, PORT) for name in self.cluster.nodes],
            random=self.simulation.decisions.random("client", "c1"),
            now_ms=lambda: 1_700_000_000_000,
        )
        await client.admin.create_topic("t", partitions=1, replication_factor=COUNT)
        producer = client.producer()
        for number in range(RECORDS):
            await producer.send("t", 0, b"%d" % number)
        await client.close()

    def run(self, work: Coroutine[Any, Any, _Result], *, for_s: float = 1.0) -> _Result:
        """Time goes on for the nodes, too."""
        return self.simulation.run(work, deadline_s=self.simulation.now_s + for_s)

    # Who is who

    def node(self, node_id: int) -> Node:
        node = self.cluster[f"n{node_id}"].process
        assert node is not None
        return node

    def partition(self, node_id: int) -> Partition:
        partition = self.node(node_id).partitions.find("t", 0)
        assert partition is not None
        return partition

    @property
    def leader(self) -> int:
        return next(each for each in range(1, COUNT + 1) if self.partition(each).leader is not None)

    @property
    def follower(self) -> int:
        return next(each for each in range(1, COUNT + 1) if self.partition(each).leader is None)

    @property
    def controller(self) -> int:
        return next(each for each in range(1, COUNT + 1) if self.node(each).quorum.leads)

    # What the test does

    def append(self, node_id: int, value: bytes, *, epoch: int, offset: int | None = None) -> None:
        """Past all rules, and without a word."""
        log = self.partition(node_id).log
        offset = log.end_offset if offset is None else offset
        batch = build_batch([Record(offset, 1_700_000_000_000, None, value)], leader_epoch=epoch)
        log.append_replicated(memoryview(batch))

    def truncate(self, node_id: int, offset: int) -> None:
        self.run(self.partition(node_id).log.truncate_to(offset))

    def tell(
        self,
        kind: str,
        node_id: int,
        *,
        topic: str = "t",
        offset: int | None = None,
        epoch: int | None = None,
        detail: object = "",
    ) -> None:
        """As if the node had said so; the watcher looks at once."""
        self.watch.hear(News(0, f"n{node_id}", kind, topic, 0, offset, epoch, detail))
        self.watch.look()

    def tell_of_quorum(self, kind: str, node_id: int, **more: Any) -> None:
        self.tell(kind, node_id, topic=TOPIC, **more)

    def decide(self, node_id: int, *changes: Change) -> None:
        """As if the controllers had decided it, and this node were the first to know."""
        node = self.node(node_id)
        for change in changes:
            node.metadata.image.apply(change)
        node.metadata.applied_offset += 1
        self.tell_of_quorum("metadata", node_id, detail=Applied(changes))


@contextmanager
def cluster_by_hand(
    invariant: Invariant, properties: Mapping[str, str] | None = None
) -> Iterator[ClusterByHand]:
    with Simulation(1) as simulation:
        made = ClusterByHand(
            simulation, invariant, {"min.insync.replicas": "2", **(properties or {})}
        )
        simulation.run(made.begin(), deadline_s=60.0)
        yield made


@contextmanager
def breaks(invariant: Invariant, words: str) -> Iterator[None]:
    with pytest.raises(InvariantBroken, match=words) as caught:
        yield
    assert caught.value.violation.invariant == invariant.name
