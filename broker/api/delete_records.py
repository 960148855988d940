"""DeleteRecords: moves the start of a log forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.leadership import partition_to_serve
from broker.api.request import Request
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_HIGH_WATERMARK = -1
_NO_OFFSET = -1


async def delete_records(
    node: Node, request: Request[m.DeleteRecordsRequest]
) -> m.DeleteRecordsResponse:
    response = m.DeleteRecordsResponse(topics=[])
    for topic in request.body.topics:
        answers: list[m.DeleteRecordsPartitionResult] = []
        response.topics.append(m.DeleteRecordsTopicResult(name=topic.name, partitions=answers))
        for asked in topic.partitions:
            answer = m.DeleteRecordsPartitionResult(
                partition_index=asked.partition_index, low_watermark=_NO_OFFSET
            )
            answers.append(answer)
            try:
                partition = partition_to_serve(node, topic.name, asked.partition_index)
                answer.low_watermark = await _delete(partition, asked.offset)
            except KafkaError as error:
                answer.error_code = error.code
    return response


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
