"""Answers about consumer groups, which this broker does not coordinate yet.

A client that reads assigned partitions asks for the committed offsets of its group first. No
group has any, so OffsetFetch answers -1, the protocol's word for "none", and the client begins
where its own reset policy says. A closed connection instead ends librdkafka 2.16 by SIGSEGV and
makes kafka-python reconnect seven times a second for ever.

The APIs that need a coordinator are not advertised, so that clients give their own clear error.
Clients that ask without looking (kafka-python with `api_version`) get UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from broker.api.request import Request, at_once_or_in_slices
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_BATCHED_VERSION = 8
_FIRST_VERSION_WITH_IDS = 10
_NONE_COMMITTED = -1
_REFUSAL = ErrorCode.UNSUPPORTED_VERSION


def list_groups(node: Node, request: Request[m.ListGroupsRequest]) -> m.ListGroupsResponse:
    return m.ListGroupsResponse(groups=[])


def offset_fetch(
    node: Node, request: Request[m.OffsetFetchRequest]
) -> m.OffsetFetchResponse | Coroutine[Any, Any, m.OffsetFetchResponse]:
    return at_once_or_in_slices(request, _no_offsets(node, request))


async def _no_offsets(node: Node, request: Request[m.OffsetFetchRequest]) -> m.OffsetFetchResponse:
    body = request.body
    if request.version >= _FIRST_BATCHED_VERSION:
        by_id = request.version >= _FIRST_VERSION_WITH_IDS
        groups = [await _nothing_of(node, group, request, by_id=by_id) for group in body.groups]
        return m.OffsetFetchResponse(groups=groups)
    topics: list[m.OffsetFetchResponseTopic] = []
    for topic in body.topics or ():
        partitions: list[m.OffsetFetchResponsePartition] = []
        topics.append(m.OffsetFetchResponseTopic(name=topic.name, partitions=partitions))
        await request.pause()
        for index in topic.partition_indexes:
            await request.pause()
            partitions.append(
                m.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=_NONE_COMMITTED, metadata=""
                )
            )
    return m.OffsetFetchResponse(topics=topics)


async def _nothing_of(
    node: Node,
    group: m.OffsetFetchRequestGroup,
    request: Request[m.OffsetFetchRequest],
    *,
    by_id: bool,
) -> m.OffsetFetchResponseGroup:
    await request.pause()
    names_by_id = node.metadata.image.names_by_id
    answer = m.OffsetFetchResponseGroup(group_id=group.group_id, topics=[])
    for topic in group.topics or ():
        partitions: list[m.OffsetFetchResponsePartitions] = []
        answer.topics.append(
            m.OffsetFetchResponseTopics(
                name=topic.name, topic_id=topic.topic_id, partitions=partitions
            )
        )
        await request.pause()
        is_unknown = by_id and topic.topic_id not in names_by_id
        for index in topic.partition_indexes:
            await request.pause()
            partitions.append(
                m.OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=_NONE_COMMITTED,
                    metadata="",
                    error_code=ErrorCode.UNKNOWN_TOPIC_ID if is_unknown else ErrorCode.NONE,
                )
            )
    return answer


# Not advertised: see the head of this file.


def offset_commit(
    node: Node, request: Request[m.OffsetCommitRequest]
) -> m.OffsetCommitResponse | Coroutine[Any, Any, m.OffsetCommitResponse]:
    return at_once_or_in_slices(request, _nothing_committed(request))


async def _nothing_committed(request: Request[m.OffsetCommitRequest]) -> m.OffsetCommitResponse:
    topics: list[m.OffsetCommitResponseTopic] = []
    for topic in request.body.topics:
        await request.pause()
        partitions: list[m.OffsetCommitResponsePartition] = []
        topics.append(
            m.OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=partitions
            )
        )
        for part in topic.partitions:
            await request.pause()
            partitions.append(
                m.OffsetCommitResponsePartition(
                    partition_index=part.partition_index, error_code=_REFUSAL
                )
            )
    return m.OffsetCommitResponse(topics=topics)


def join_group(node: Node, request: Request[m.JoinGroupRequest]) -> m.JoinGroupResponse:
    member_id = request.body.member_id
    return m.JoinGroupResponse(
        error_code=_REFUSAL, protocol_name="", leader="", member_id=member_id, members=[]
    )


def sync_group(node: Node, request: Request[m.SyncGroupRequest]) -> m.SyncGroupResponse:
    return m.SyncGroupResponse(error_code=_REFUSAL, assignment=b"")


def heartbeat(node: Node, request: Request[m.HeartbeatRequest]) -> m.HeartbeatResponse:
    return m.HeartbeatResponse(error_code=_REFUSAL)


def leave_group(node: Node, request: Request[m.LeaveGroupRequest]) -> m.LeaveGroupResponse:
    return m.LeaveGroupResponse(error_code=_REFUSAL, members=[])
