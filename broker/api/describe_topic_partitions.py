"""DescribeTopicPartitions: topics in pages, for clusters whose metadata fits into no one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.cluster_view import leader_of, offline_replicas
from broker.api.name_order import in_order
from broker.api.operations import TOPIC_OPERATIONS
from broker.api.request import Request
from broker.api.topic_names import check_topic_name
from broker.metadata.image import PartitionInfo, TopicInfo
from broker.metadata.internal_topics import INTERNAL_TOPICS
from broker.metadata.partition_info import NO_LEADER
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def describe_topic_partitions(
    node: Node, request: Request[m.DescribeTopicPartitionsRequest]
) -> m.DescribeTopicPartitionsResponse:
    """In the order of names. Without topics: all. The cursor says where the next page begins."""
    request.make_wide()  # also an empty one asks for thousands of partitions
    body = request.body
    image = node.metadata.image
    cursor = body.cursor
    asked = (topic.name for topic in body.topics) if body.topics else list(image.topics)
    names = await in_order(asked, request)
    if cursor is not None and (
        cursor.partition_index < 0 or (body.topics and cursor.topic_name not in names)
    ):
        return await _wrong_cursor(names, request)
    first_name = cursor.topic_name if cursor else ""
    room = min(body.response_partition_limit, node.config.max_request_partition_size_limit)
    room = max(room, 1)
    response = m.DescribeTopicPartitionsResponse(topics=[], next_cursor=None)
    for name in names:
        await request.pause()
        if name < first_name:
            continue
        topic = image.topic(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        first = cursor.partition_index if cursor and name == first_name else 0
        if room == 0:
            response.next_cursor = m.DescribeTopicPartitionsResponseCursor(
                topic_name=name, partition_index=first
            )
            break
        last = min(len(topic.partitions), first + room)
        response.topics.append(_describe(node, topic, first, last))
        room -= max(0, last - first)
        if last < len(topic.partitions):
            response.next_cursor = m.DescribeTopicPartitionsResponseCursor(
                topic_name=name, partition_index=last
            )
            break
    return response


async def _wrong_cursor(
    names: list[str], request: Request[m.DescribeTopicPartitionsRequest]
) -> m.DescribeTopicPartitionsResponse:
    """A cursor that no answer has ever given: its topic is not asked for, or it is negative."""
    response = m.DescribeTopicPartitionsResponse(topics=[], next_cursor=None)
    for name in names:
        await request.pause()
        response.topics.append(
            m.DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=name)
        )
    return response


def _unknown(name: str) -> m.DescribeTopicPartitionsResponseTopic:
    try:
        check_topic_name(name)
    except KafkaError as invalid:
        return m.DescribeTopicPartitionsResponseTopic(error_code=invalid.code, name=name)
    return m.DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _describe(
    node: Node, topic: TopicInfo, first: int, last: int
) -> m.DescribeTopicPartitionsResponseTopic:
    return m.DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
        partitions=[
            _partition(node, topic.name, index, topic.partitions[index])
            for index in range(first, last)
        ],
    )


def _partition(
    node: Node, topic: str, index: int, info: PartitionInfo
) -> m.DescribeTopicPartitionsResponsePartition:
    leader = leader_of(node, topic, index, info)
    return m.DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if leader != NO_LEADER else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=leader,
        leader_epoch=info.leader_epoch,
        replica_nodes=list(info.replicas),
        isr_nodes=list(info.isr),
        eligible_leader_replicas=list(info.elr),
        last_known_elr=list(info.last_known_elr),
        offline_replicas=offline_replicas(node, topic, index, info),
    )
