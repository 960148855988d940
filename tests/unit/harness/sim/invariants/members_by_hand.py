"""A simulated cluster with a consumer group whose members are played request by request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from broker.groups.consumer.group import ConsumerGroup
from broker.network.interface import Address
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.client import Client
from harness.native.coordinator import GroupCoordinator
from harness.native.errors import BrokerError
from harness.sim.invariants.base import Invariant
from harness.sim.nodes import PORT
from harness.sim.processes import SimProcess
from harness.sim.trace_sink import News
from tests.unit.harness.sim.invariants.cluster_by_hand import ClusterByHand, cluster_by_hand

GROUP = "g"
TOPIC = "u"
PARTITIONS = 2
LEAVE = -1

_Result = TypeVar("_Result")


@dataclass
class MembersByHand:
    cluster: ClusterByHand
    epochs: dict[str, int] = field(default_factory=dict)
    """Of each member, by the last answer that it got."""

    def play(self, act: Callable[[Client], Awaitable[_Result]]) -> _Result:
        simulation = self.cluster.simulation
        client = Client(
            simulation.network.of("c1"),
            [Address(name, PORT) for name in self.cluster.cluster.nodes],
            random=simulation.decisions.random("client", "c1"),
            now_ms=lambda: 1_700_000_000_000,
        )
        result: list[_Result] = []

        async def work() -> None:
            result.append(await act(client))
            await client.close()

        started = SimProcess(simulation, "c1").start(work())

        async def ended() -> None:
            await started

        self.cluster.run(ended(), for_s=20)
        return result[0]

    def create_topic(self) -> None:
        self.play(
            lambda client: client.admin.create_topic(
                TOPIC, partitions=PARTITIONS, replication_factor=1
            )
        )

    def beat(
        self, member: str, epoch: int | None = None, owns: Sequence[int] | None = None
    ) -> ErrorCode:
        """A heartbeat; with epoch 0 the member joins. Without `owns` it does not say."""
        epoch = self.epochs[member] if epoch is None else epoch
        is_join = epoch == 0

        async def act(client: Client) -> m.ConsumerGroupHeartbeatResponse:
            owned = owns if owns is not None else ([] if is_join else None)
            await client.metadata.leader(TOPIC, 0)
            topic_id = client.metadata.topic_id(TOPIC)
            body = m.ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id=member,
                member_epoch=epoch,
                rebalance_timeout_ms=60_000 if is_join else -1,
                subscribed_topic_names=[TOPIC] if is_join else None,
                topic_partitions=None
                if owned is None
                else [
                    m.ConsumerGroupHeartbeatRequestTopicPartitions(
                        topic_id=topic_id, partitions=list(owned)
                    )
                ]
                if owned
                else [],
            )
            answer: m.ConsumerGroupHeartbeatResponse = await client.retried(
                lambda: _answered(GroupCoordinator(client, GROUP), body)
            )
            return answer

        answer = self.play(act)
        self.epochs[member] = answer.member_epoch
        return ErrorCode(answer.error_code)

    def join(self, member: str) -> ErrorCode:
        return self.beat(member, 0)

    def leave(self, member: str) -> ErrorCode:
        return self.beat(member, LEAVE)

    def commit(self, member: str, offset: int, *, epoch: int | None = None) -> ErrorCode:
        """To partition 0."""
        epoch = self.epochs[member] if epoch is None else epoch

        async def act(client: Client) -> ErrorCode:
            try:
                await GroupCoordinator(client, GROUP).commit(
                    {(TOPIC, 0): offset}, generation=epoch, member_id=member, instance_id=None
                )
            except BrokerError as refused:
                return refused.code
            return ErrorCode.NONE

        return self.play(act)

    @property
    def node(self) -> Node:
        """The coordinator's."""
        nodes = (self.cluster.node(each) for each in (1, 2, 3))
        return next(each for each in nodes if each.groups.shards.find(0) is not None)

    @property
    def group(self) -> ConsumerGroup:
        shard = self.node.groups.shards.find(0)
        assert shard is not None
        group = shard.machine.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def look(self) -> None:
        """As if the coordinator's partition had told of something."""
        watch = self.cluster.watch
        name = f"n{self.node.node_id}"
        watch.hear(News(0, name, "high_watermark", "__consumer_offsets", 0, None, None, ""))
        watch.look()


async def _answered(
    coordinator: GroupCoordinator, body: m.ConsumerGroupHeartbeatRequest
) -> m.ConsumerGroupHeartbeatResponse:
    answer: m.ConsumerGroupHeartbeatResponse = await coordinator.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT, body
    )
    return answer


@contextmanager
def members_by_hand(invariant: Invariant) -> Iterator[MembersByHand]:
    properties = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "3",
        "group.consumer.assignment.interval.ms": "0",
    }
    with cluster_by_hand(invariant, properties) as cluster:
        made = MembersByHand(cluster)
        made.create_topic()
        yield made
