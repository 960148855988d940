"""OffsetFetch: how far groups have read, as far as that is certain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from broker.api.request import Request
from broker.coordination.keyed_shards import reply_of
from broker.coordination.step import Now, Step, Ticket, reply
from broker.groups.machine import GroupMachine
from broker.groups.offsets import delete_record
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_TOP_ERROR = 2
_FIRST_BATCHED_VERSION = 8
_FIRST_VERSION_WITH_IDS = 10
_NONE_COMMITTED = -1
_NO_PARTITION = ("", -1)


async def offset_fetch(node: Node, request: Request[m.OffsetFetchRequest]) -> m.OffsetFetchResponse:
    if request.version < _FIRST_BATCHED_VERSION:
        return await _one_group(node, request)
    by_id = request.version >= _FIRST_VERSION_WITH_IDS
    asked = []
    for group in request.body.groups:
        await request.pause()
        unknown = _leave_out_unknown(node, group) if by_id else []
        asked.append((group, unknown, _ask(node, group, request.body.require_stable)))
    request.will_wait()
    answer = m.OffsetFetchResponse(groups=[])
    for group, unknown, outcome in asked:
        await request.pause()
        found = await _found(group, outcome)
        if by_id:
            _set_ids(node, found)
        if not found.error_code:
            found.topics += unknown
        answer.groups.append(found)
    return answer


async def _one_group(node: Node, request: Request[m.OffsetFetchRequest]) -> m.OffsetFetchResponse:
    """The form that names one group, and has its own structs for the same things."""
    body = request.body
    asked = m.OffsetFetchRequestGroup(group_id=body.group_id, topics=None)
    if body.topics is not None:
        asked.topics = [
            m.OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes)
            for each in body.topics
        ]
    found = await _found(asked, _ask(node, asked, body.require_stable))
    if found.error_code and request.version < _FIRST_VERSION_WITH_TOP_ERROR:
        found.topics = [_failed(each, found.error_code) for each in asked.topics or ()]
    topics = []
    for topic in found.topics:
        await request.pause()
        topics.append(
            m.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    m.OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
        )
    return m.OffsetFetchResponse(topics=topics, error_code=found.error_code)


def _ask(node: Node, group: m.OffsetFetchRequestGroup, require_stable: bool) -> asyncio.Future[Any]:
    group_id = group.group_id

    def run(machine: GroupMachine, ticket: Ticket, now: Now) -> Step:
        step = machine.offset_fetch(ticket, group, require_stable=require_stable)
        if not node.groups.leads_for_certain(group_id):
            # Another coordinator may have accepted commits. The answer waits until the replicas
            # have taken a record that changes nothing, or is NOT_COORDINATOR.
            step.records = [delete_record(group_id, *_NO_PARTITION)]
            step.refused = lambda code, now: reply(ticket, KafkaError(code))
        return step

    return node.groups.ask(group_id, run)


async def _found(
    group: m.OffsetFetchRequestGroup, asked: asyncio.Future[Any]
) -> m.OffsetFetchResponseGroup:
    try:
        found: m.OffsetFetchResponseGroup = await reply_of(asked)
    except KafkaError as error:
        code = error.code
        if code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
            # As Kafka: consumers before 3.9 do not expect it here, and would not ask again.
            code = ErrorCode.NOT_COORDINATOR
        return m.OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=code)
    return found


def _leave_out_unknown(
    node: Node, group: m.OffsetFetchRequestGroup
) -> list[m.OffsetFetchResponseTopics]:
    """Names the topics, takes unknown ones out of the request, and returns their answers."""
    unknown: list[m.OffsetFetchResponseTopics] = []
    known: list[m.OffsetFetchRequestTopics] = []
    for topic in group.topics or ():
        info = node.metadata.image.topic_by_id(topic.topic_id)
        if info is None:
            unknown.append(_failed(topic, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            topic.name = info.name
            known.append(topic)
    if group.topics is not None:
        group.topics = known
    return unknown


def _set_ids(node: Node, found: m.OffsetFetchResponseGroup) -> None:
    """A topic that has none, because it was deleted meanwhile, cannot be told."""
    answered = []
    for topic in found.topics:
        info = node.metadata.image.topic(topic.name)
        if info is not None:
            topic.topic_id = info.topic_id
            answered.append(topic)
    found.topics = answered


def _failed(topic: m.OffsetFetchRequestTopics, code: int) -> m.OffsetFetchResponseTopics:
    return m.OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            m.OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=_NONE_COMMITTED,
                metadata="",
                error_code=code,
            )
            for index in topic.partition_indexes
        ],
    )
