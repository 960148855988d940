"""ListOffsets: each partition is answered once."""

from __future__ import annotations

from broker.api.list_offsets import LATEST, list_offsets
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


async def latest(node: Node, *topics: tuple[str, list[int]]) -> list[tuple[str, int, int, int]]:
    """Topic, partition, error and offset of every answer."""
    body = m.ListOffsetsRequest(
        topics=[
            m.ListOffsetsTopic(
                name=name,
                partitions=[
                    m.ListOffsetsPartition(partition_index=index, timestamp=LATEST)
                    for index in indexes
                ],
            )
            for name, indexes in topics
        ]
    )
    answer = await list_offsets(node, ask(ApiKey.LIST_OFFSETS, body))
    return [
        (topic.name, each.partition_index, each.error_code, each.offset)
        for topic in answer.topics
        for each in topic.partitions or [m.ListOffsetsPartitionResponse(partition_index=-9)]
    ]


async def test_a_partition_that_is_named_twice_is_refused_once() -> None:
    async with running_node() as node:
        await create_topic(node, "t", 2)
        append(node, "t", 3)
        refused = ("t", 0, ErrorCode.INVALID_REQUEST, -1)
        assert await latest(node, ("t", [0, 0, 1])) == [refused, ("t", 1, 0, 0)]
        assert await latest(node, ("t", [0]), ("t", [0])) == [refused]
        assert await latest(node, ("t", [0]), ("t", [1])) == [("t", 0, 0, 3), ("t", 1, 0, 0)]


async def test_a_topic_without_partitions_is_left_out_of_the_answer() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert await latest(node, ("t", []), ("other", [])) == []


async def test_an_isolation_level_that_is_not_known_is_refused() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        for level in (2, -1):
            body = m.ListOffsetsRequest(
                isolation_level=level,
                topics=[
                    m.ListOffsetsTopic(
                        name="t",
                        partitions=[m.ListOffsetsPartition(partition_index=0, timestamp=LATEST)],
                    )
                ],
            )
            answer = await list_offsets(node, ask(ApiKey.LIST_OFFSETS, body))
            (part,) = answer.topics[0].partitions
            assert (part.error_code, part.offset) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)
