"""TxnOffsetCommit: offsets that count when their transaction commits (KIP-98, KIP-447)."""

from __future__ import annotations

from broker.coordination.step import (
    CoordinatorRecord,
    Now,
    ProducerIdAndEpoch,
    Reply,
    Step,
    Ticket,
)
from broker.groups.group import Group
from broker.groups.offset_requests import utf16_length
from broker.groups.offsets import NO_EXPIRY, NO_TOPIC_ID, commit_record
from broker.groups.settings import GroupSettings
from broker.groups.topics_view import TopicsView
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_ANY_VERSION = 0


def txn_offset_commit(
    group: Group | None,
    is_simple: bool,
    settings: GroupSettings,
    topics: TopicsView,
    ticket: Ticket,
    body: m.TxnOffsetCommitRequest,
    now: Now,
) -> Step:
    """All partitions are one batch of the transaction. `is_simple`: see `offset_commit`."""
    code = _check(group, is_simple, body)
    if code:
        return Step(replies=[Reply(ticket, txn_commit_failed(body, code))])
    if group is not None:
        group.commit_seen(body.member_id, now)
    producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
    written: list[CoordinatorRecord] = []
    answer = m.TxnOffsetCommitResponse(topics=[])
    for topic in body.topics:
        topic_id = topics.topic_id(topic.name) or NO_TOPIC_ID
        parts: list[m.TxnOffsetCommitResponsePartition] = []
        answer.topics.append(m.TxnOffsetCommitResponseTopic(name=topic.name, partitions=parts))
        for part in topic.partitions:
            index, metadata = part.partition_index, part.committed_metadata or ""
            code = _check_to(group, body, topic.name, index)
            if not code and utf16_length(metadata) > settings.offset_metadata_max_bytes:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            parts.append(m.TxnOffsetCommitResponsePartition(partition_index=index, error_code=code))
            if not code:
                value = m.OffsetCommitValue(
                    offset=part.committed_offset,
                    leader_epoch=part.committed_leader_epoch,
                    metadata=metadata,
                    commit_timestamp=now.wall_ms,
                    expire_timestamp=NO_EXPIRY,
                    topic_id=topic_id,
                )
                plain = commit_record(body.group_id, topic.name, index, value)
                written.append(plain._replace(producer=producer))
    return Step(
        written,
        [Reply(ticket, answer)],
        lambda code, now: Step(replies=[Reply(ticket, txn_commit_failed(body, code))]),
    )


def _check(group: Group | None, is_simple: bool, body: m.TxnOffsetCommitRequest) -> ErrorCode:
    if group is not None:
        code = group.check_commit(
            body.member_id, body.group_instance_id, body.generation_id, True, _ANY_VERSION
        )
        return _as_generation(code)
    if body.generation_id < 0:
        return ErrorCode.NONE  # a client that assigns partitions to itself
    return ErrorCode.UNKNOWN_MEMBER_ID if is_simple else ErrorCode.ILLEGAL_GENERATION


def _check_to(
    group: Group | None, body: m.TxnOffsetCommitRequest, topic: str, partition: int
) -> ErrorCode:
    if group is None or body.generation_id < 0:
        return ErrorCode.NONE
    return _as_generation(
        group.check_commit_to(body.member_id, body.generation_id, topic, partition)
    )


def _as_generation(code: ErrorCode) -> ErrorCode:
    """Producers do not know the error of member epochs."""
    is_stale = code == ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.ILLEGAL_GENERATION if is_stale else code


def txn_commit_failed(body: m.TxnOffsetCommitRequest, code: ErrorCode) -> m.TxnOffsetCommitResponse:
    """The same error for each partition: the response has no other place for it."""
    return m.TxnOffsetCommitResponse(
        topics=[
            m.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    m.TxnOffsetCommitResponsePartition(
                        partition_index=part.partition_index, error_code=code
                    )
                    for part in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )
