"""What clients ask about committed offsets, answered by the offsets and by the group's word."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket
from broker.groups.group import Group
from broker.groups.offsets import (
    NO_EXPIRY,
    CommittedOffset,
    CommittedOffsets,
    Partitions,
    commit_record,
)
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_FIRST_VERSION_WITH_MEMBER_EPOCH = 9
_NONE_COMMITTED = -1
_NO_RETENTION = -1


def offset_commit(
    offsets: CommittedOffsets,
    group: Group | None,
    settings: GroupSettings,
    ticket: Ticket,
    body: m.OffsetCommitRequest,
    version: int,
    now: Now,
) -> Step:
    """All partitions are written as one batch; the answer has a word for each."""
    code = _check_commit(group, body, version)
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
            code = ErrorCode.NONE
            metadata = part.committed_metadata or ""
            if len(metadata.encode()) > settings.offset_metadata_max_bytes:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                committed = CommittedOffset(
                    part.committed_offset,
                    part.committed_leader_epoch,
                    metadata,
                    now.wall_ms,
                    expire_ms,
                )
                written.append(
                    commit_record(body.group_id, topic.name, part.partition_index, committed)
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


def _check_commit(group: Group | None, body: m.OffsetCommitRequest, version: int) -> ErrorCode:
    generation = body.generation_id_or_member_epoch
    if group is not None:
        return group.check_commit(
            body.member_id, body.group_instance_id, generation, False, version
        )
    if generation < 0:
        return ErrorCode.NONE  # a client that assigns partitions to itself
    is_new = version >= _FIRST_VERSION_WITH_MEMBER_EPOCH
    return ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION


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


def offset_fetch(
    offsets: CommittedOffsets,
    group: Group | None,
    body: m.OffsetFetchRequestGroup,
) -> m.OffsetFetchResponseGroup:
    """The topics of the answer have names; one that asked by id puts the ids in itself."""
    if group is not None:
        code = group.check_fetch(body.member_id, body.member_epoch)
        if code:
            return m.OffsetFetchResponseGroup(group_id=body.group_id, topics=[], error_code=code)
    known = offsets.of_group(body.group_id)
    answer = m.OffsetFetchResponseGroup(group_id=body.group_id, topics=[])
    if body.topics is None:
        for name, partitions in known.items():
            answer.topics.append(_fetched(name, list(partitions), partitions))
        return answer
    for topic in body.topics:
        partitions = known.get(topic.name, {})
        answer.topics.append(_fetched(topic.name, topic.partition_indexes, partitions))
    return answer


def _fetched(name: str, indexes: list[int], committed: Partitions) -> m.OffsetFetchResponseTopics:
    partitions: list[m.OffsetFetchResponsePartitions] = []
    for index in indexes:
        found = committed.get(index)
        if found is None:
            each = m.OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=_NONE_COMMITTED, metadata=""
            )
        else:
            each = m.OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=found.offset,
                committed_leader_epoch=found.leader_epoch,
                metadata=found.metadata,
            )
        partitions.append(each)
    return m.OffsetFetchResponseTopics(name=name, partitions=partitions)
