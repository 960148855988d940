"""DescribeProducers: who writes to a partition, as its log remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.leadership import partition_to_serve
from broker.api.request import Request
from broker.api.topic_names import check_topic_name
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def describe_producers(
    node: Node, request: Request[m.DescribeProducersRequest]
) -> m.DescribeProducersResponse:
    """One short partition may have thousands of producers, so that answers are wide."""
    request.make_wide()
    response = m.DescribeProducersResponse(topics=[])
    seen: set[tuple[str, int]] = set()
    for topic in request.body.topics:
        await request.pause()
        answers: list[m.PartitionResponse] = []
        response.topics.append(m.TopicResponse(name=topic.name, partitions=answers))
        for index in topic.partition_indexes:
            await request.pause()
            answer = m.PartitionResponse(
                partition_index=index, error_message=None, active_producers=[]
            )
            answers.append(answer)
            try:
                if (topic.name, index) in seen:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the partition is named twice")
                seen.add((topic.name, index))
                check_topic_name(topic.name)
                answer.active_producers = _producers(partition_to_serve(node, topic.name, index))
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, request.explain(error)
    return response


def _producers(partition: Partition) -> list[m.ProducerState]:
    if partition.log.failure is not None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    return [
        m.ProducerState(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.last_timestamp,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=(
                -1 if producer.txn_first_offset is None else producer.txn_first_offset
            ),
        )
        for _, producer in sorted(partition.log.producers.producers.items())
    ]
