"""DeleteRecords: moves the start of a log forward."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker.api.leadership import partition_to_serve
from broker.api.request import Request
from broker.partition import Partition, wait_for_change
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_HIGH_WATERMARK = -1
_NO_OFFSET = -1
_LOOK_AGAIN_S = 0.02


async def delete_records(
    node: Node, request: Request[m.DeleteRecordsRequest]
) -> m.DeleteRecordsResponse:
    response = m.DeleteRecordsResponse(topics=[])
    until = asyncio.get_running_loop().time() + request.body.timeout_ms / 1000
    for topic in request.body.topics:
        await request.pause()
        if not topic.partitions:
            continue  # nothing to answer, so Kafka leaves the topic out
        answers: list[m.DeleteRecordsPartitionResult] = []
        response.topics.append(m.DeleteRecordsTopicResult(name=topic.name, partitions=answers))
        for asked in topic.partitions:
            await request.pause()
            answer = m.DeleteRecordsPartitionResult(
                partition_index=asked.partition_index, low_watermark=_NO_OFFSET
            )
            answers.append(answer)
            try:
                partition = partition_to_serve(node, topic.name, asked.partition_index)
                if partition.is_internal:
                    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
                start = await _delete(partition, asked.offset)
                answer.low_watermark = await _everywhere(partition, start, until)
            except KafkaError as error:
                answer.error_code = error.code
    return response


async def _everywhere(partition: Partition, start: int, until: float) -> int:
    """Until no live replica has the records any more, or whoever leads next could show them."""
    loop = asyncio.get_running_loop()
    while (low := partition.lead().low_watermark(partition.log.start_offset)) < start:
        if loop.time() >= until:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"a replica still begins at {low}")
        await wait_for_change([partition], min(until, loop.time() + _LOOK_AGAIN_S))
    return low


async def _delete(partition: Partition, offset: int) -> int:
    log = partition.log
    if log.failure is not None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    if log.config.cleanup_compact and not log.config.cleanup_delete:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, "records of a topic that is only compacted stay"
        )
    before = log.high_watermark if offset == _HIGH_WATERMARK else offset
    if not 0 <= before <= log.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {before} is beyond the high watermark {log.high_watermark}",
        )
    return await log.delete_records(before)
