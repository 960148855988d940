"""CreatePartitions: gives topics more partitions; they never lose any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.repeated import repeated
from broker.api.request import Request
from broker.api.topic_plan import (
    check_partition_count,
    check_replica_lists,
    new_partitions,
    place,
)
from broker.controller.partition_change import Assignment
from broker.metadata.changes import PartitionsAdded
from broker.metadata.internal_topics import INTERNAL_TOPICS
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def create_partitions(
    node: Node, request: Request[m.CreatePartitionsRequest]
) -> m.CreatePartitionsResponse:
    body = request.body
    twice = await repeated((topic.name for topic in body.topics), request)
    results: list[m.CreatePartitionsTopicResult] = []

    async def decide() -> Sequence[PartitionsAdded]:
        changes: list[PartitionsAdded] = []
        added = 0
        for topic in {each.name: each for each in body.topics}.values():
            await request.pause()
            result = m.CreatePartitionsTopicResult(name=topic.name, error_message=None)
            results.append(result)
            try:
                if topic.name in twice:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the topic is named twice")
                change = plan_partitions(node, topic)
                check_partition_count(added + len(change.partitions))
                added += len(change.partitions)
                changes.append(change)
            except KafkaError as error:
                result.error_code, result.error_message = error.code, request.explain(error)
        return [] if body.validate_only else changes

    try:
        await node.change(decide)
    except KafkaError as error:
        for result in results:
            if result.error_code == ErrorCode.NONE:
                result.error_code, result.error_message = error.code, request.explain(error)
    return m.CreatePartitionsResponse(results=results)


def plan_partitions(node: Node, topic: m.CreatePartitionsTopic) -> PartitionsAdded:
    known = node.metadata.image.topic(topic.name)
    if known is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic.name!r}")
    if topic.name in INTERNAL_TOPICS:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"{topic.name} keeps its partitions: with others, groups would lose their offsets",
        )
    current = len(known.partitions)
    added = topic.count - current
    if added == 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"the topic has {current} partitions already"
        )
    if added < 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"the topic has {current} partitions; {topic.count} would not be an increase",
        )
    check_partition_count(added)
    # While the first partition is moved it has more replicas than it shall have.
    factor = len(Assignment.of(known.partitions[0]).staying)
    if topic.assignments is None:
        lists: Sequence[Sequence[int]] = place(node, added, factor)
    else:
        lists = [assignment.broker_ids for assignment in topic.assignments]
        if len(lists) != added:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{len(lists)} assignments are given for {added} new partitions",
            )
        check_replica_lists(node, lists, factor)
    return PartitionsAdded(known.name, known.topic_id, current, new_partitions(node, lists))
