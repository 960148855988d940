"""OffsetCommit: keeps how far a group has read, durably, before it is answered."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from broker.api.later import Later, known, reply_of_group
from broker.api.request import Request, at_once_or_in_slices
from broker.group_events import tell_of_commit
from broker.groups.offset_requests import commit_failed
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_IDS = 10

_CommitAnswer = Later[m.OffsetCommitResponse]


def offset_commit(
    node: Node, request: Request[m.OffsetCommitRequest]
) -> _CommitAnswer | Coroutine[Any, Any, m.OffsetCommitResponse]:
    begun = at_once_or_in_slices(request, _begin(node, request))
    return begun if isinstance(begun, Later) else _finish(begun)


async def _finish(begun: Coroutine[Any, Any, _CommitAnswer]) -> m.OffsetCommitResponse:
    return await (await begun)


async def _begin(node: Node, request: Request[m.OffsetCommitRequest]) -> _CommitAnswer:
    body, version = request.body, request.version
    unknown: list[m.OffsetCommitResponseTopic] = []
    body.topics = await _known_topics(node, request, unknown)
    if not body.topics:
        return known(m.OffsetCommitResponse(topics=unknown))
    request.will_wait()
    written = reply_of_group(
        node,
        body.group_id,
        lambda machine, ticket, now: tell_of_commit(
            machine, body, machine.offset_commit(ticket, body, version, now)
        ),
        lambda error: commit_failed(body, error.code),
    )
    return _with_unknown(written, unknown) if unknown else written


async def _known_topics(
    node: Node,
    request: Request[m.OffsetCommitRequest],
    unknown: list[m.OffsetCommitResponseTopic],
) -> list[m.OffsetCommitRequestTopic]:
    """Topics with names and ids, without the partitions that do not exist: `unknown` gets those."""
    image = node.metadata.image
    by_id = request.version >= _FIRST_VERSION_WITH_IDS
    known: list[m.OffsetCommitRequestTopic] = []
    for topic in request.body.topics:
        await request.pause()
        info = image.topic_by_id(topic.topic_id) if by_id else image.topic(topic.name)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        count = 0
        if info is not None:
            topic.name, topic.topic_id, count = info.name, info.topic_id, len(info.partitions)
        elif by_id:
            code = ErrorCode.UNKNOWN_TOPIC_ID
        found: list[m.OffsetCommitRequestPartition] = []
        missing: list[m.OffsetCommitRequestPartition] = []
        for each in topic.partitions:
            await request.pause()
            (found if 0 <= each.partition_index < count else missing).append(each)
        if missing:
            gone = m.OffsetCommitRequestTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=missing
            )
            unknown += commit_failed(m.OffsetCommitRequest(topics=[gone]), code).topics
            topic.partitions = found
        if topic.partitions:
            known.append(topic)
    return known


def _with_unknown(
    written: _CommitAnswer, unknown: list[m.OffsetCommitResponseTopic]
) -> _CommitAnswer:
    """Partitions that do not exist are listed with those of the same topic that do."""

    def add(answer: m.OffsetCommitResponse) -> m.OffsetCommitResponse:
        answered = {(each.name, each.topic_id): each for each in answer.topics}
        for topic in unknown:
            found = answered.get((topic.name, topic.topic_id))
            if found is None:
                answer.topics.append(topic)
            else:
                found.partitions += topic.partitions
        return answer

    return Later(lambda answered: written.then(lambda answer: answered(add(answer))))
