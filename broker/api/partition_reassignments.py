"""AlterPartitionReassignments and its list: moves partitions to other brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.reassignment import ongoing_reassignments, reassign
from broker.metadata.changes import PartitionsChanged
from broker.metadata.partition_info import PartitionInfo
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def alter_partition_reassignments(
    node: Node, request: Request[m.AlterPartitionReassignmentsRequest]
) -> m.AlterPartitionReassignmentsResponse:
    body = request.body
    response = m.AlterPartitionReassignmentsResponse(
        error_message=None,
        allow_replication_factor_change=body.allow_replication_factor_change,
        responses=[],
    )

    async def decide() -> Sequence[PartitionsChanged]:
        moved: dict[tuple[str, bytes], dict[int, PartitionInfo]] = {}
        for topic in body.topics:
            await request.pause()
            answers: list[m.ReassignablePartitionResponse] = []
            response.responses.append(
                m.ReassignableTopicResponse(name=topic.name, partitions=answers)
            )
            for part in topic.partitions:
                await request.pause()
                answer = m.ReassignablePartitionResponse(
                    partition_index=part.partition_index, error_message=None
                )
                answers.append(answer)
                try:
                    changes = reassign(
                        node.metadata.image,
                        topic.name,
                        part.partition_index,
                        part.replicas,
                        node.topic_rules,
                        allow_factor_change=body.allow_replication_factor_change,
                    )
                except KafkaError as error:
                    answer.error_code, answer.error_message = error.code, request.explain(error)
                    continue
                for change in changes:
                    moved.setdefault((change.name, change.topic_id), {}).update(change.partitions)
        return [
            PartitionsChanged(name, topic_id, tuple(sorted(partitions.items())))
            for (name, topic_id), partitions in moved.items()
        ]

    try:
        await node.change(decide)
    except KafkaError as error:
        for topic in response.responses:
            for answer in topic.partitions:
                if answer.error_code == ErrorCode.NONE:
                    answer.error_code, answer.error_message = error.code, request.explain(error)
    return response


async def list_partition_reassignments(
    node: Node, request: Request[m.ListPartitionReassignmentsRequest]
) -> m.ListPartitionReassignmentsResponse:
    """What this node's metadata know of; `kafka-topics --describe` asks each time."""
    request.make_wide()  # it looks at all partitions there are
    asked = request.body.topics
    wanted = None
    if asked is not None:
        wanted = {(topic.name, index) for topic in asked for index in topic.partition_indexes}
    topics: dict[str, m.OngoingTopicReassignment] = {}
    for each in list(ongoing_reassignments(node.metadata.image)):
        await request.pause()
        if wanted is not None and (each.topic, each.index) not in wanted:
            continue
        if each.topic not in topics:
            topics[each.topic] = m.OngoingTopicReassignment(name=each.topic, partitions=[])
        topics[each.topic].partitions.append(
            m.OngoingPartitionReassignment(
                partition_index=each.index,
                replicas=list(each.info.replicas),
                adding_replicas=list(each.info.adding_replicas),
                removing_replicas=list(each.info.removing_replicas),
            )
        )
    return m.ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))
