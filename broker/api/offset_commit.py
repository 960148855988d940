"""OffsetCommit: keeps how far a group has read, durably, before it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.groups.offset_requests import commit_failed
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_IDS = 10


async def offset_commit(
    node: Node, request: Request[m.OffsetCommitRequest]
) -> m.OffsetCommitResponse:
    body, version = request.body, request.version
    unknown: list[m.OffsetCommitResponseTopic] = []
    body.topics = await _known_topics(node, request, unknown)
    if not body.topics:
        return m.OffsetCommitResponse(topics=unknown)
    request.will_wait()
    try:
        answer: m.OffsetCommitResponse = await node.groups.submit(
            body.group_id,
            lambda machine, ticket, now: machine.offset_commit(ticket, body, version, now),
        )
    except KafkaError as error:
        answer = commit_failed(body, error.code)
    answer.topics += unknown
    return answer


async def _known_topics(
    node: Node,
    request: Request[m.OffsetCommitRequest],
    unknown: list[m.OffsetCommitResponseTopic],
) -> list[m.OffsetCommitRequestTopic]:
    """Topics with their names, without the partitions that do not exist: those go to `unknown`."""
    image = node.metadata.image
    by_id = request.version >= _FIRST_VERSION_WITH_IDS
    known: list[m.OffsetCommitRequestTopic] = []
    for topic in request.body.topics:
        await request.pause()
        info = image.topic_by_id(topic.topic_id) if by_id else image.topic(topic.name)
        count = 0 if info is None else len(info.partitions)
        missing = [each for each in topic.partitions if not 0 <= each.partition_index < count]
        if missing:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if by_id and info is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID
            gone = m.OffsetCommitRequestTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=missing
            )
            unknown += commit_failed(m.OffsetCommitRequest(topics=[gone]), code).topics
            topic.partitions = [
                each for each in topic.partitions if 0 <= each.partition_index < count
            ]
        if info is not None and topic.partitions:
            topic.name = info.name
            known.append(topic)
    return known
