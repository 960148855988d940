"""Events of a group coordinator for a simulator: generations, fenced members, decided commits.

Nothing is computed while nobody listens.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.coordination.step import CoordinatorRecord, Step
from broker.groups import records
from broker.groups.machine import GroupMachine
from broker.groups.seen import SeenGroup
from broker.metadata.internal_topics import GROUPS_TOPIC
from broker.observe.events import emit, event_sink
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_FENCED = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
    }
)
"""What a client is told that is no member any more, or has missed a generation."""

_MEMBER_REPLIES = (
    m.JoinGroupResponse,
    m.SyncGroupResponse,
    m.HeartbeatResponse,
    m.ConsumerGroupHeartbeatResponse,
)


@dataclass(frozen=True, slots=True)
class CommitDecided:
    """An OffsetCommit or TxnOffsetCommit, and its decision, with the group as it was then."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    """The generation or member epoch that the request claims; negative for a client that is no
    member."""
    accepted: tuple[tuple[str, str, int], ...]
    """Hexadecimal topic id, topic name and partition of every offset that is to be written."""
    group: SeenGroup | None
    """None for a group of which at most offsets are known."""
    is_transactional: bool = False

    def __str__(self) -> str:
        who = self.member_id or "no member"
        return f"{self.group_id}: {who} in {self.generation}, {len(self.accepted)} accepted"


def tell_of_step(partition: Partition, step: Step) -> None:
    """`group` for each new generation or epoch, `fenced` for each member that is turned away."""
    if event_sink.get() is None:
        return
    for record in step.records:
        _tell_of_record(partition, record)
    for reply in step.replies:
        response = reply.response
        if isinstance(response, _MEMBER_REPLIES) and response.error_code in _FENCED:
            code, kind = ErrorCode(response.error_code).name, type(response).__name__
            told = f"{kind.removesuffix('Response')}: {code}"
            emit("fenced", partition.topic, partition.index, detail=told)


def _tell_of_record(partition: Partition, record: CoordinatorRecord) -> None:
    if record.value is None:
        return
    kind = int.from_bytes(record.key[:2], "big")
    if kind in (records.GROUP_METADATA, records.CONSUMER_GROUP_METADATA):
        _, key = records.decode_key(record.key)
        value = records.decode_value(kind, record.value)
        number = value.generation if kind == records.GROUP_METADATA else value.epoch
        name = key.group if kind == records.GROUP_METADATA else key.group_id
        emit("group", partition.topic, partition.index, epoch=number, detail=name)


def tell_of_commit(machine: GroupMachine, body: m.OffsetCommitRequest, step: Step) -> Step:
    """`commit`, or `commit_refused` if the client is no member any more. Returns the step."""
    if event_sink.get() is not None:
        answered = [
            ((topic.topic_id.hex(), topic.name, part.partition_index), part.error_code)
            for topic in step.replies[0].response.topics
            for part in topic.partitions
        ]
        generation = body.generation_id_or_member_epoch
        _tell_of_decision(machine, body, generation, answered, is_transactional=False)
    return step


def tell_of_txn_commit(machine: GroupMachine, body: m.TxnOffsetCommitRequest, step: Step) -> Step:
    """Same as `tell_of_commit`, for offsets of a transaction."""
    if event_sink.get() is not None:
        answered = [
            (
                (
                    (machine.topics.topic_id(topic.name) or b"").hex(),
                    topic.name,
                    part.partition_index,
                ),
                part.error_code,
            )
            for topic in step.replies[0].response.topics
            for part in topic.partitions
        ]
        _tell_of_decision(machine, body, body.generation_id, answered, is_transactional=True)
    return step


def _tell_of_decision(
    machine: GroupMachine,
    body: m.OffsetCommitRequest | m.TxnOffsetCommitRequest,
    generation: int,
    answered: list[tuple[tuple[str, str, int], int]],
    *,
    is_transactional: bool,
) -> None:
    accepted = tuple(place for place, code in answered if not code)
    group = machine.groups.get(body.group_id)
    decided = CommitDecided(
        body.group_id,
        body.member_id,
        body.group_instance_id,
        generation,
        accepted,
        None if group is None else group.seen(),
        is_transactional,
    )
    if accepted:
        emit("commit", GROUPS_TOPIC, detail=decided)
    if any(code in _FENCED for _, code in answered):
        emit("commit_refused", GROUPS_TOPIC, detail=decided)
