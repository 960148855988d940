"""DescribeQuorum: who leads the metadata quorum, and how far each member is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.api.topic_names import CLUSTER_METADATA_TOPIC
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def describe_quorum(
    node: Node, request: Request[m.DescribeQuorumRequest]
) -> m.DescribeQuorumResponse:
    """Only the leader knows. A broker asks it."""
    if not _names_only_the_metadata(request.body):
        return await _unknown(request)
    timeout_s = node.config.controller_quorum_request_timeout_ms / 1000
    try:
        answer: m.DescribeQuorumResponse = await node.forwarding.ask(
            ApiKey.DESCRIBE_QUORUM, request.body, timeout_s=timeout_s
        )
    except UnansweredError as problem:
        return m.DescribeQuorumResponse(
            error_code=ErrorCode.LEADER_NOT_AVAILABLE, error_message=str(problem), topics=[]
        )
    return answer


def _names_only_the_metadata(asked: m.DescribeQuorumRequest) -> bool:
    """Whether the request names the one quorum that exists, and nothing else."""
    named = [topic for topic in asked.topics if topic.partitions]
    if len(named) != 1 or len(named[0].partitions) != 1:
        return False
    return (
        named[0].topic_name == CLUSTER_METADATA_TOPIC and not named[0].partitions[0].partition_index
    )


async def _unknown(request: Request[m.DescribeQuorumRequest]) -> m.DescribeQuorumResponse:
    error = KafkaError(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "only the partition 0 of the metadata has a quorum"
    )
    topics: list[m.DescribeQuorumResponseTopicData] = []
    for topic in request.body.topics:
        await request.pause()
        parts: list[m.DescribeQuorumResponsePartitionData] = []
        for part in topic.partitions:
            await request.pause()
            parts.append(
                m.DescribeQuorumResponsePartitionData(
                    partition_index=part.partition_index,
                    error_code=error.code,
                    error_message=request.explain(error),
                )
            )
        topics.append(
            m.DescribeQuorumResponseTopicData(topic_name=topic.topic_name, partitions=parts)
        )
    return m.DescribeQuorumResponse(error_message=None, topics=topics)
