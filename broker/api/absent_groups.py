"""Answers about consumer groups, which this broker does not coordinate yet.

A client that reads assigned partitions asks for the committed offsets of its group first. No
group has any, so OffsetFetch answers -1, the protocol's word for "none", and the client begins
where its own reset policy says. A closed connection instead ends librdkafka 2.16 by SIGSEGV and
makes kafka-python reconnect seven times a second for ever.

The APIs that need a coordinator are not advertised, so that clients give their own clear error.
Clients that ask without looking (kafka-python with `api_version`) get UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
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


def offset_fetch(node: Node, request: Request[m.OffsetFetchRequest]) -> m.OffsetFetchResponse:
    body = request.body
    if request.version >= _FIRST_BATCHED_VERSION:
        by_id = request.version >= _FIRST_VERSION_WITH_IDS
        return m.OffsetFetchResponse(
            groups=[_nothing_of(node, group, by_id=by_id) for group in body.groups]
        )
    return m.OffsetFetchResponse(
        topics=[
            m.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    m.OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=_NONE_COMMITTED, metadata=""
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in body.topics or ()
        ]
    )


def _nothing_of(
    node: Node, group: m.OffsetFetchRequestGroup, *, by_id: bool
) -> m.OffsetFetchResponseGroup:
    names_by_id = node.metadata.image.names_by_id
    return m.OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            m.OffsetFetchResponseTopics(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    m.OffsetFetchResponsePartitions(
                        partition_index=index,
                        committed_offset=_NONE_COMMITTED,
                        metadata="",
                        error_code=ErrorCode.UNKNOWN_TOPIC_ID
                        if by_id and topic.topic_id not in names_by_id
                        else ErrorCode.NONE,
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in group.topics or ()
        ],
    )


# Not advertised: see the head of this file.


def offset_commit(node: Node, request: Request[m.OffsetCommitRequest]) -> m.OffsetCommitResponse:
    return m.OffsetCommitResponse(
        topics=[
            m.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    m.OffsetCommitResponsePartition(
                        partition_index=part.partition_index, error_code=_REFUSAL
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.body.topics
        ]
    )


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
