"""OffsetFetch: the committed offsets of groups.

Up to version 7 a request names one group, with structs of its own. From version 8 on it names
several groups.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from broker.api.portions import answered_in_portions
from broker.api.request import ELEMENTS_AT_ONCE, Request
from broker.coordination.step import Now, Step, Ticket, reply
from broker.groups.machine import GroupMachine
from broker.groups.offsets import NO_TOPIC_ID, delete_record
from broker.groups.read_offsets import GroupAsked, OffsetAnswer, ReadOffsets
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_TOP_ERROR = 2
_FIRST_BATCHED_VERSION = 8
_FIRST_VERSION_WITH_IDS = 10
_NO_PARTITION = ("", -1)
_NO_MEMBER_EPOCH = -1

_Fetch = Request[m.OffsetFetchRequest]
_Part = TypeVar("_Part", m.OffsetFetchResponsePartition, m.OffsetFetchResponsePartitions)


async def offset_fetch(node: Node, request: _Fetch) -> m.OffsetFetchResponse:
    if request.version < _FIRST_BATCHED_VERSION:
        return await _one_group(node, request)
    if request.version >= _FIRST_VERSION_WITH_IDS:
        await _set_names(node, request)
    ask = partial(_ask, node, request.body.require_stable)
    answer = m.OffsetFetchResponse(groups=[])
    async for group, found in answered_in_portions(request, request.body.groups, ask):
        code = _error(found)
        topics = [] if code else await _topics(node, request, group, found)
        answer.groups.append(
            m.OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=code)
        )
    return answer


def _ask(node: Node, require_stable: bool, group: GroupAsked) -> asyncio.Future[Any]:
    """Ask the coordinator of the group. The result is ReadOffsets, or a KafkaError."""
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


def _error(found: ReadOffsets | KafkaError) -> ErrorCode:
    if found.code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
        # As Kafka: consumers before 3.9 do not expect it here, and would not ask again.
        return ErrorCode.NOT_COORDINATOR
    return found.code


async def _set_names(node: Node, request: _Fetch) -> None:
    """Set the names of topics, by which the coordinator knows them; empty for unknown ids."""
    for group in request.body.groups:
        for topic in group.topics or ():
            await request.pause()
            info = node.metadata.image.topic_by_id(topic.topic_id)
            topic.name = "" if info is None else info.name


async def _topics(
    node: Node, request: _Fetch, group: m.OffsetFetchRequestGroup, found: ReadOffsets
) -> list[m.OffsetFetchResponseTopics]:
    """The topics of one group's answer.

    With ids, topics that do not exist come last, and one that was deleted since the coordinator was
    asked is left out.
    """
    by_id = request.version >= _FIRST_VERSION_WITH_IDS
    asked = group.topics
    if asked is None:
        asked = _all_topics(request, found, m.OffsetFetchRequestTopics)
    elif by_id:
        asked = sorted(asked, key=lambda topic: not topic.name)
    topics: list[m.OffsetFetchResponseTopics] = []
    for topic in asked:
        await request.pause()
        answer = m.OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id)
        find: Callable[[int], OffsetAnswer] = partial(found.find, topic.name, topic.topic_id)
        if by_id and not topic.name:
            find = _unknown
        elif by_id:
            info = node.metadata.image.topic(topic.name)
            if info is None:
                continue
            answer.topic_id = info.topic_id
        answer.partitions = await _partitions(
            request, m.OffsetFetchResponsePartitions, topic.partition_indexes, find
        )
        topics.append(answer)
    return topics


def _unknown(_: int) -> OffsetAnswer:
    return OffsetAnswer(error_code=ErrorCode.UNKNOWN_TOPIC_ID)


class _OneGroup(NamedTuple):
    group_id: str
    topics: Sequence[m.OffsetFetchRequestTopic] | None
    member_id: str | None = None
    member_epoch: int = _NO_MEMBER_EPOCH


async def _one_group(node: Node, request: _Fetch) -> m.OffsetFetchResponse:
    body = request.body
    asked = body.topics
    request.will_wait()
    found = await _ask(node, body.require_stable, _OneGroup(body.group_id, asked))
    await request.goes_on()
    code = _error(found)
    failed = OffsetAnswer(error_code=code)
    if code and request.version >= _FIRST_VERSION_WITH_TOP_ERROR:
        asked = []
    elif asked is None:
        asked = [] if code else _all_topics(request, found, m.OffsetFetchRequestTopic)
    topics: list[m.OffsetFetchResponseTopic] = []
    for topic in asked:
        await request.pause()
        find = (lambda _: failed) if code else partial(found.find, topic.name, NO_TOPIC_ID)
        parts = await _partitions(
            request, m.OffsetFetchResponsePartition, topic.partition_indexes, find
        )
        topics.append(m.OffsetFetchResponseTopic(name=topic.name, partitions=parts))
    return m.OffsetFetchResponse(topics=topics, error_code=code)


_Topic = TypeVar("_Topic", m.OffsetFetchRequestTopic, m.OffsetFetchRequestTopics)


def _all_topics(request: _Fetch, found: ReadOffsets, kind: type[_Topic]) -> list[_Topic]:
    if sum(len(partitions) for partitions in found.by_topic.values()) > ELEMENTS_AT_ONCE:
        request.make_wide()
    return [
        kind(name=name, partition_indexes=list(partitions))
        for name, partitions in found.by_topic.items()
    ]


async def _partitions(
    request: _Fetch,
    kind: type[_Part],
    indexes: Sequence[int],
    find: Callable[[int], OffsetAnswer],
) -> list[_Part]:
    parts: list[_Part] = []
    for index in indexes:
        await request.pause()
        each = find(index)
        parts.append(
            kind(
                partition_index=index,
                committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch,
                metadata=each.metadata,
                error_code=each.error_code,
            )
        )
    return parts
