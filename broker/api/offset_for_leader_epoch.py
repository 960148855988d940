"""OffsetForLeaderEpoch: where an epoch ended, so that a reader can tell if its past still holds."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from broker.api.leadership import partition_to_serve
from broker.api.request import Request, at_once_or_in_slices
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


def offset_for_leader_epoch(
    node: Node, request: Request[m.OffsetForLeaderEpochRequest]
) -> m.OffsetForLeaderEpochResponse | Coroutine[Any, Any, m.OffsetForLeaderEpochResponse]:
    return at_once_or_in_slices(request, _answer(node, request))


async def _answer(
    node: Node, request: Request[m.OffsetForLeaderEpochRequest]
) -> m.OffsetForLeaderEpochResponse:
    response = m.OffsetForLeaderEpochResponse(topics=[])
    for topic in request.body.topics:
        await request.pause()
        answers: list[m.OffsetForLeaderEpochResponseEpochEndOffset] = []
        response.topics.append(m.OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
        for asked in topic.partitions:
            await request.pause()
            answer = m.OffsetForLeaderEpochResponseEpochEndOffset(
                partition=asked.partition, leader_epoch=-1, end_offset=-1
            )
            answers.append(answer)
            try:
                partition = partition_to_serve(
                    node, topic.topic, asked.partition, asked.current_leader_epoch
                )
                if partition.log.failure is not None:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
                epoch, end = partition.log.end_offset_for_epoch(asked.leader_epoch)
                answer.leader_epoch, answer.end_offset = epoch, end
            except KafkaError as error:
                answer.error_code = error.code
    return response
