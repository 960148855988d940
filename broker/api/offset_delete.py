"""OffsetDelete: forgets how far a group has read of some partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def offset_delete(
    node: Node, request: Request[m.OffsetDeleteRequest]
) -> m.OffsetDeleteResponse:
    body = request.body
    if not body.group_id:
        return m.OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID, topics=[])
    unknown = await _leave_out_unknown(node, request)
    request.will_wait()
    try:
        answer: m.OffsetDeleteResponse = await node.groups.submit(
            body.group_id, lambda machine, ticket, now: machine.offset_delete(ticket, body)
        )
    except KafkaError as error:
        return m.OffsetDeleteResponse(error_code=error.code, topics=[])
    if not answer.error_code:
        for topic in answer.topics:
            topic.partitions += unknown.pop(topic.name, [])
        answer.topics += [
            m.OffsetDeleteResponseTopic(name=name, partitions=partitions)
            for name, partitions in unknown.items()
        ]
    return answer


async def _leave_out_unknown(
    node: Node, request: Request[m.OffsetDeleteRequest]
) -> dict[str, list[m.OffsetDeleteResponsePartition]]:
    """Takes partitions that do not exist out of the request, and returns their answers."""
    unknown: dict[str, list[m.OffsetDeleteResponsePartition]] = {}
    known: list[m.OffsetDeleteRequestTopic] = []
    for topic in request.body.topics:
        await request.pause()
        info = node.metadata.image.topic(topic.name)
        count = 0 if info is None else len(info.partitions)
        for part in topic.partitions:
            if not 0 <= part.partition_index < count:
                unknown.setdefault(topic.name, []).append(
                    m.OffsetDeleteResponsePartition(
                        partition_index=part.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    )
                )
        topic.partitions = [each for each in topic.partitions if 0 <= each.partition_index < count]
        if topic.partitions:
            known.append(topic)
    request.body.topics = known
    return unknown
