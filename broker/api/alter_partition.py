"""AlterPartition: leaders ask the controller for other in-sync replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.alter_partition import IsrMember, IsrRequest
from broker.controller.alter_partition import alter_partition as altered
from broker.controller.broker_events import current_broker
from broker.metadata.changes import Change
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.quorum import NotLeaderError

if TYPE_CHECKING:
    from broker.node import Node


async def alter_partition(
    node: Node, request: Request[m.AlterPartitionRequest]
) -> m.AlterPartitionResponse:
    body, controller = request.body, node.controller
    response = m.AlterPartitionResponse(topics=[])

    async def decide() -> Sequence[Change]:
        current_broker(controller.image, body.broker_id, body.broker_epoch)
        changes: list[Change] = []
        for topic in body.topics:
            await request.pause()
            answers: list[m.AlterPartitionResponsePartitionData] = []
            response.topics.append(
                m.AlterPartitionResponseTopicData(topic_id=topic.topic_id, partitions=answers)
            )
            for part in topic.partitions:
                await request.pause()
                answer = m.AlterPartitionResponsePartitionData(
                    partition_index=part.partition_index, isr=[]
                )
                answers.append(answer)
                try:
                    found = altered(
                        controller.image, _asked(body, topic.topic_id, part), controller.rules_of
                    )
                except KafkaError as error:
                    answer.error_code = error.code
                    continue
                changes += found.changes
                answer.error_code = found.error
                answer.leader_id = found.info.leader
                answer.leader_epoch = found.info.leader_epoch
                answer.isr = list(found.info.isr)
                answer.leader_recovery_state = found.info.leader_recovery_state
                answer.partition_epoch = found.info.partition_epoch
        return changes

    try:
        await controller.decide(decide)
    except KafkaError as error:
        return m.AlterPartitionResponse(error_code=error.code)
    except NotLeaderError:
        return m.AlterPartitionResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return response


def _asked(
    body: m.AlterPartitionRequest, topic_id: bytes, part: m.AlterPartitionRequestPartitionData
) -> IsrRequest:
    members = [IsrMember(each.broker_id, each.broker_epoch) for each in part.new_isr_with_epochs]
    return IsrRequest(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        topic_id=topic_id,
        index=part.partition_index,
        leader_epoch=part.leader_epoch,
        partition_epoch=part.partition_epoch,
        new_isr=members or [IsrMember(each) for each in part.new_isr],
        leader_recovery_state=part.leader_recovery_state,
    )
