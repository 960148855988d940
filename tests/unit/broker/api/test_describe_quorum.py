"""DescribeQuorum: any broker tells what the quorum's leader knows, or that there is none."""

from __future__ import annotations

import pytest

from broker.api.describe_quorum import describe_quorum
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.raft import events as e
from tests.unit.broker.api.nodes import ask, create_topic, running_node

METADATA = "__cluster_metadata"


async def described(
    node: Node, topic: str = METADATA, partitions: tuple[int, ...] = (0,)
) -> m.DescribeQuorumResponse:
    parts = [m.DescribeQuorumRequestPartitionData(partition_index=index) for index in partitions]
    asked = m.DescribeQuorumRequestTopicData(topic_name=topic, partitions=parts)
    body = m.DescribeQuorumRequest(topics=[asked])
    return await describe_quorum(node, ask(ApiKey.DESCRIBE_QUORUM, body))


@pytest.mark.parametrize(
    ("topic", "partitions"), [("t", (0,)), (METADATA, (1,)), (METADATA, (0, 1))]
)
async def test_only_the_metadata_have_a_quorum(topic: str, partitions: tuple[int, ...]) -> None:
    async with running_node() as node:
        answer = await described(node, topic, partitions)
        assert answer.error_code == 0
        parts = answer.topics[0].partitions
        assert [part.partition_index for part in parts] == list(partitions)
        assert {part.error_code for part in parts} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert not any(part.current_voters for part in parts)


async def test_a_node_alone_leads_itself_and_is_level() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        answer = await described(node)
        assert answer.error_code == 0
        [part] = answer.topics[0].partitions
        assert (part.error_code, part.leader_id, part.leader_epoch) == (0, 1, 1)
        [voter] = part.current_voters
        assert (voter.replica_id, part.observers) == (1, [])
        assert voter.log_end_offset == part.high_watermark == node.quorum.log.end_offset


async def test_without_a_leader_it_says_so() -> None:
    async with running_node() as node:
        await node.quorum.step(e.Resign())
        answer = await described(node)
        assert answer.error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert answer.error_message == "no controller is known"
