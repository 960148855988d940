"""AlterPartitionReassignments: partitions move to other brokers, and one may look on."""

from __future__ import annotations

from broker.api.partition_reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask, create_topic, running_node
from tests.unit.broker.api.other_brokers import let_in
from tests.virtual_time import in_virtual_time


async def move(node: Node, replicas: list[int] | None, index: int = 0, topic: str = "t") -> int:
    """The partition's error."""
    part = m.ReassignablePartition(partition_index=index, replicas=replicas)
    body = m.AlterPartitionReassignmentsRequest(
        topics=[m.ReassignableTopic(name=topic, partitions=[part])], timeout_ms=1000
    )
    answer = await alter_partition_reassignments(
        node, ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
    )
    assert answer.error_code == 0
    return answer.responses[0].partitions[0].error_code


def under_way(
    node: Node, asked: list[m.ListPartitionReassignmentsTopics] | None = None
) -> list[tuple[str, int, list[int], list[int], list[int]]]:
    body = m.ListPartitionReassignmentsRequest(topics=asked)
    answer = at_once(
        list_partition_reassignments(node, ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, body))
    )
    assert answer.error_code == 0
    return [
        (
            topic.name,
            part.partition_index,
            part.replicas,
            part.adding_replicas,
            part.removing_replicas,
        )
        for topic in answer.topics
        for part in topic.partitions
    ]


async def test_nothing_moves_unless_somebody_asks() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert under_way(node) == []
        assert await move(node, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@in_virtual_time
async def test_a_move_is_listed_until_the_new_replica_is_in_sync() -> None:
    async with running_node() as node:
        await create_topic(node, "t", 2)
        await let_in(node, 2)
        assert await move(node, [2]) == ErrorCode.NONE
        assert under_way(node) == [("t", 0, [2, 1], [2], [1])]
        other = m.ListPartitionReassignmentsTopics(name="t", partition_indexes=[1])
        assert under_way(node, [other]) == []
        this = m.ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])
        assert len(under_way(node, [this])) == 1


@in_virtual_time
async def test_a_move_can_be_called_off() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        await let_in(node, 2)
        assert await move(node, [1, 2]) == ErrorCode.NONE
        assert await move(node, None) == ErrorCode.NONE
        assert under_way(node) == []
        assert node.metadata.image.topics["t"].partitions[0].replicas == (1,)


async def test_what_cannot_be_is_refused_with_its_code() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert await move(node, [9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert await move(node, [1, 1]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert await move(node, []) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert await move(node, [1], index=9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await move(node, [1], topic="nope") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert under_way(node) == []
