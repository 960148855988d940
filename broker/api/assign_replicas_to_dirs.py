"""AssignReplicasToDirs: a broker says in which of its log directories its replicas lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.replica_directories import Lying, assign_directories
from broker.metadata.changes import Change
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.quorum import NotLeaderError

if TYPE_CHECKING:
    from broker.node import Node


async def assign_replicas_to_dirs(
    node: Node, request: Request[m.AssignReplicasToDirsRequest]
) -> m.AssignReplicasToDirsResponse:
    body, controller = request.body, node.controller
    asked = [
        Lying(directory.id, topic.topic_id, part.partition_index)
        for directory in body.directories
        for topic in directory.topics
        for part in topic.partitions
    ]
    errors: Mapping[Lying, ErrorCode] = {}

    def decide() -> Sequence[Change]:
        nonlocal errors
        assigned = assign_directories(
            controller.image, body.broker_id, body.broker_epoch, asked, controller.rules_of
        )
        errors = assigned.errors
        return assigned.changes

    try:
        await controller.decide(decide)
    except KafkaError as error:
        return m.AssignReplicasToDirsResponse(error_code=error.code, directories=[])
    except NotLeaderError:
        return m.AssignReplicasToDirsResponse(error_code=ErrorCode.NOT_CONTROLLER, directories=[])
    return m.AssignReplicasToDirsResponse(directories=_answers(body, errors))


def _answers(
    body: m.AssignReplicasToDirsRequest, errors: Mapping[Lying, ErrorCode]
) -> list[m.AssignReplicasToDirsResponseDirectoryData]:
    """In the order of the request."""
    return [
        m.AssignReplicasToDirsResponseDirectoryData(
            id=directory.id,
            topics=[
                m.AssignReplicasToDirsResponseTopicData(
                    topic_id=topic.topic_id,
                    partitions=[
                        m.AssignReplicasToDirsResponsePartitionData(
                            partition_index=part.partition_index,
                            error_code=errors[
                                Lying(directory.id, topic.topic_id, part.partition_index)
                            ],
                        )
                        for part in topic.partitions
                    ],
                )
                for topic in directory.topics
            ],
        )
        for directory in body.directories
    ]
