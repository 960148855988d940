"""OffsetFetch: how far groups have read, as far as that is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_TOP_ERROR = 2
_FIRST_BATCHED_VERSION = 8
_FIRST_VERSION_WITH_IDS = 10
_NONE_COMMITTED = -1


async def offset_fetch(node: Node, request: Request[m.OffsetFetchRequest]) -> m.OffsetFetchResponse:
    if request.version < _FIRST_BATCHED_VERSION:
        return await _one_group(node, request)
    by_id = request.version >= _FIRST_VERSION_WITH_IDS
    groups = []
    for group in request.body.groups:
        await request.pause()
        groups.append(await (_fetch_by_id if by_id else _fetch)(node, group))
    return m.OffsetFetchResponse(groups=groups)


async def _one_group(node: Node, request: Request[m.OffsetFetchRequest]) -> m.OffsetFetchResponse:
    """The form that names one group, and has its own structs for the same things."""
    body = request.body
    asked = m.OffsetFetchRequestGroup(group_id=body.group_id, topics=None)
    if body.topics is not None:
        asked.topics = [
            m.OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes)
            for each in body.topics
        ]
    found = await _fetch(node, asked)
    if found.error_code and request.version < _FIRST_VERSION_WITH_TOP_ERROR:
        found.topics = [_failed(each, found.error_code) for each in asked.topics or ()]
    topics = []
    for topic in found.topics:
        await request.pause()
        topics.append(
            m.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    m.OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
        )
    return m.OffsetFetchResponse(topics=topics, error_code=found.error_code)


async def _fetch(node: Node, group: m.OffsetFetchRequestGroup) -> m.OffsetFetchResponseGroup:
    try:
        found: m.OffsetFetchResponseGroup = await node.groups.submit(
            group.group_id,
            lambda machine, ticket, now: machine.offset_fetch(ticket, group, now),
        )
    except KafkaError as error:
        return m.OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=error.code)
    return found


async def _fetch_by_id(node: Node, group: m.OffsetFetchRequestGroup) -> m.OffsetFetchResponseGroup:
    """Topics go by ids. One that is not known is left out for all, and is an error for some."""
    image = node.metadata.image
    unknown: list[m.OffsetFetchResponseTopics] = []
    if group.topics is not None:
        known = []
        for topic in group.topics:
            info = image.topic_by_id(topic.topic_id)
            if info is None:
                unknown.append(_failed(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            else:
                topic.name = info.name
                known.append(topic)
        group.topics = known
    found = await _fetch(node, group)
    answered = []
    for each in found.topics:
        info = image.topic(each.name)
        if info is not None:
            each.topic_id = info.topic_id
            answered.append(each)
    found.topics = answered if found.error_code else answered + unknown
    return found


def _failed(topic: m.OffsetFetchRequestTopics, code: int) -> m.OffsetFetchResponseTopics:
    return m.OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            m.OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=_NONE_COMMITTED,
                metadata="",
                error_code=code,
            )
            for index in topic.partition_indexes
        ],
    )
