"""DescribeQuorum: who leads the metadata quorum, and how far each member is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.api.topic_names import CLUSTER_METADATA_TOPIC
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node


def _unknown(asked: m.DescribeQuorumRequest) -> m.DescribeQuorumResponse:
    """There is one quorum, that of the metadata. A request names it, and nothing else."""
    return m.DescribeQuorumResponse(
        error_message=None,
        topics=[
            m.DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    m.DescribeQuorumResponsePartitionData(
                        partition_index=part.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message="only the partition 0 of the metadata has a quorum",
                    )
                    for part in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )


async def describe_quorum(
    node: Node, request: Request[m.DescribeQuorumRequest]
) -> m.DescribeQuorumResponse:
    """Only the leader knows. A broker asks it."""
    asked = [
        (topic.topic_name, part.partition_index)
        for topic in request.body.topics
        for part in topic.partitions
    ]
    if asked != [(CLUSTER_METADATA_TOPIC, 0)]:
        return _unknown(request.body)
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
