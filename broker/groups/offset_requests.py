"""What clients ask about committed offsets, answered by the offsets and by the group's word."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket
from broker.groups.group import Group
from broker.groups.offsets import (
    NO_EXPIRY,
    CommittedOffsets,
    commit_record,
    delete_record,
)
from broker.groups.pending_offsets import PendingOffsets
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_FIRST_VERSION_WITH_MEMBER_EPOCH = 9
_NO_RETENTION = -1


def offset_commit(
    group: Group | None,
    is_simple: bool,
    settings: GroupSettings,
    ticket: Ticket,
    body: m.OffsetCommitRequest,
    version: int,
    now: Now,
) -> Step:
    """All partitions are written as one batch; the answer has a word for each.

    `is_simple` says that only offsets of the group are known.
    """
    code = _check_commit(group, is_simple, body, version)
    if code:
        return Step(replies=[Reply(ticket, commit_failed(body, code))])
    if group is not None:
        group.commit_seen(body.member_id, now)
    written: list[CoordinatorRecord] = []
    answer = m.OffsetCommitResponse(topics=[])
    expire_ms = NO_EXPIRY
    if body.retention_time_ms != _NO_RETENTION:
        expire_ms = now.wall_ms + body.retention_time_ms
    for topic in body.topics:
        parts: list[m.OffsetCommitResponsePartition] = []
        answer.topics.append(
            m.OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=parts)
        )
        for part in topic.partitions:
            code = _check_commit_to(group, body, topic.name, part.partition_index)
            metadata = part.committed_metadata or ""
            if not code and utf16_length(metadata) > settings.offset_metadata_max_bytes:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            if not code:
                value = m.OffsetCommitValue(
                    offset=part.committed_offset,
                    leader_epoch=part.committed_leader_epoch,
                    metadata=metadata,
                    commit_timestamp=now.wall_ms,
                    expire_timestamp=expire_ms,
                    topic_id=topic.topic_id,
                )
                written.append(
                    commit_record(body.group_id, topic.name, part.partition_index, value)
                )
            parts.append(
                m.OffsetCommitResponsePartition(
                    partition_index=part.partition_index, error_code=code
                )
            )
    return Step(
        written,
        [Reply(ticket, answer)],
        lambda code, now: Step(replies=[Reply(ticket, commit_failed(body, code))]),
    )


def _check_commit(
    group: Group | None, is_simple: bool, body: m.OffsetCommitRequest, version: int
) -> ErrorCode:
    generation = body.generation_id_or_member_epoch
    if group is not None:
        return group.check_commit(
            body.member_id, body.group_instance_id, generation, False, version
        )
    if generation < 0:
        return ErrorCode.NONE  # a client that assigns partitions to itself
    if is_simple:
        return ErrorCode.UNKNOWN_MEMBER_ID  # the group is there, and has no members
    is_new = version >= _FIRST_VERSION_WITH_MEMBER_EPOCH
    return ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION


def _check_commit_to(
    group: Group | None, body: m.OffsetCommitRequest, topic: str, partition: int
) -> ErrorCode:
    if group is None:
        return ErrorCode.NONE
    epoch = body.generation_id_or_member_epoch
    return group.check_commit_to(body.member_id, epoch, topic, partition)


def commit_failed(body: m.OffsetCommitRequest, code: ErrorCode) -> m.OffsetCommitResponse:
    return m.OffsetCommitResponse(
        topics=[
            m.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    m.OffsetCommitResponsePartition(
                        partition_index=part.partition_index, error_code=code
                    )
                    for part in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def utf16_length(text: str) -> int:
    """The length of a string as Java counts it: Kafka's limit is in characters, not in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def offset_delete(
    offsets: CommittedOffsets,
    pending: PendingOffsets,
    group: Group | None,
    is_simple: bool,
    ticket: Ticket,
    body: m.OffsetDeleteRequest,
) -> Step:
    """Offsets of topics that members read are left alone."""
    if group is None and not is_simple:
        return _delete_failed(ticket, ErrorCode.GROUP_ID_NOT_FOUND)
    if group is not None:
        code = group.check_offset_delete()
        if code:
            return _delete_failed(ticket, code)
    written: list[CoordinatorRecord] = []
    answer = m.OffsetDeleteResponse(topics=[])
    for topic in body.topics:
        parts: list[m.OffsetDeleteResponsePartition] = []
        answer.topics.append(m.OffsetDeleteResponseTopic(name=topic.name, partitions=parts))
        code = ErrorCode.NONE
        if group is not None and group.is_subscribed_to(topic.name):
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        for part in topic.partitions:
            index = part.partition_index
            parts.append(m.OffsetDeleteResponsePartition(partition_index=index, error_code=code))
            is_pending = (body.group_id, topic.name, index) in pending
            is_known = is_pending or offsets.find(body.group_id, topic.name, index) is not None
            if not code and is_known:
                written.append(delete_record(body.group_id, topic.name, index))
    return Step(written, [Reply(ticket, answer)], lambda code, now: _delete_failed(ticket, code))


def _delete_failed(ticket: Ticket, code: ErrorCode) -> Step:
    return Step(replies=[Reply(ticket, m.OffsetDeleteResponse(error_code=code, topics=[]))])
