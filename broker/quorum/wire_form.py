"""The quorum's requests and answers as Kafka's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import CorruptBatchError, iterate_headers
from broker.protocol.errors import ErrorCode
from broker.quorum.metadata_log import TOPIC
from broker.raft.effects import AnnounceEnd, AnnounceLeader, AskVote
from broker.raft.events import (
    BeginEpochAnswered,
    EndEpochAnswered,
    EpochAnswer,
    EpochEnd,
    Event,
    FetchAnswer,
    FetchPosition,
    SnapshotId,
    SnapshotSource,
    VoteAnswer,
    VoteAnswered,
)

TOPIC_ID = bytes(15) + b"\x01"
"""Kafka's fixed id of the metadata topic."""

_NOBODY = -1

Tell = AskVote | AnnounceLeader | AnnounceEnd


def request_of(effect: Tell, node_id: int, cluster_id: str) -> tuple[ApiKey, Any]:
    match effect:
        case AskVote(to, epoch, last_epoch, last_offset, is_pre_vote):
            vote = m.VoteRequestPartitionData(
                partition_index=0,
                replica_epoch=epoch,
                replica_id=node_id,
                last_offset_epoch=last_epoch,
                last_offset=last_offset,
                pre_vote=is_pre_vote,
            )
            topic = m.VoteRequestTopicData(topic_name=TOPIC, partitions=[vote])
            return ApiKey.VOTE, m.VoteRequest(cluster_id=cluster_id, voter_id=to, topics=[topic])
        case AnnounceLeader(to, epoch):
            begin = m.BeginQuorumEpochRequestPartitionData(
                partition_index=0, leader_id=node_id, leader_epoch=epoch
            )
            return ApiKey.BEGIN_QUORUM_EPOCH, m.BeginQuorumEpochRequest(
                cluster_id=cluster_id,
                voter_id=to,
                topics=[m.BeginQuorumEpochRequestTopicData(topic_name=TOPIC, partitions=[begin])],
            )
        case AnnounceEnd(_, epoch, successors):
            end = m.EndQuorumEpochRequestPartitionData(
                partition_index=0,
                leader_id=node_id,
                leader_epoch=epoch,
                preferred_candidates=[m.ReplicaInfo(candidate_id=each) for each in successors],
            )
            return ApiKey.END_QUORUM_EPOCH, m.EndQuorumEpochRequest(
                cluster_id=cluster_id,
                topics=[m.EndQuorumEpochRequestTopicData(topic_name=TOPIC, partitions=[end])],
            )


def event_of(effect: Tell, answer: Any) -> Event | None:
    """None for an answer that says nothing: another cluster's, or one that knows no such topic."""
    if answer.error_code or not answer.topics or not answer.topics[0].partitions:
        return None
    part = answer.topics[0].partitions[0]
    error, leader = ErrorCode(part.error_code), node(part.leader_id)
    match effect:
        case AskVote(to, epoch, _, _, is_pre_vote):
            vote = VoteAnswer(part.leader_epoch, leader, part.vote_granted, error)
            return VoteAnswered(to, epoch, is_pre_vote, vote)
        case AnnounceLeader(to):
            return BeginEpochAnswered(to, EpochAnswer(part.leader_epoch, leader, error))
        case AnnounceEnd(to):
            return EndEpochAnswered(to, EpochAnswer(part.leader_epoch, leader, error))


def fetch_request(
    asked: FetchPosition,
    *,
    node_id: int,
    cluster_id: str,
    high_watermark: int,
    max_wait_ms: int,
    max_bytes: int,
) -> m.FetchRequest:
    part = m.FetchPartition(
        partition=0,
        current_leader_epoch=asked.epoch,
        fetch_offset=asked.offset,
        last_fetched_epoch=asked.last_epoch,
        partition_max_bytes=max_bytes,
        high_watermark=high_watermark,
    )
    return m.FetchRequest(
        cluster_id=cluster_id,
        replica_state=m.FetchRequestReplicaState(replica_id=node_id),
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[m.FetchTopic(topic_id=TOPIC_ID, partitions=[part])],
    )


def fetch_answer(response: m.FetchResponse) -> tuple[FetchAnswer, memoryview | None]:
    if response.error_code or not response.responses:
        error = ErrorCode(response.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR
        return FetchAnswer(-1, None, error=error), None
    part = response.responses[0].partitions[0]
    leader, parting, snapshot = part.current_leader, part.diverging_epoch, part.snapshot_id
    answer = FetchAnswer(
        epoch=-1 if leader is None else leader.leader_epoch,
        leader_id=None if leader is None else node(leader.leader_id),
        high_watermark=part.high_watermark,
        diverging=None if parting is None else EpochEnd(parting.epoch, parting.end_offset),
        snapshot_id=None if snapshot is None else SnapshotId(snapshot.end_offset, snapshot.epoch),
        error=ErrorCode(part.error_code),
    )
    records = part.records
    return answer, records if isinstance(records, memoryview) and len(records) else None


def goes_on_from(asked: FetchPosition, records: memoryview) -> bool:
    """Whether they begin where the log ends that asked, and none is of an epoch to come."""
    offset = asked.offset
    try:
        for _, header in iterate_headers(records):
            if header.base_offset != offset or not 0 <= header.leader_epoch <= asked.epoch:
                return False
            offset = header.last_offset + 1
    except CorruptBatchError:
        return False
    return True


def fetch_response(answer: FetchAnswer, records: Any) -> m.FetchResponse:
    part = m.FetchResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        high_watermark=answer.high_watermark,
        current_leader=m.FetchResponseLeaderIdAndEpoch(
            leader_id=number(answer.leader_id), leader_epoch=answer.epoch
        ),
        records=records,
    )
    if answer.diverging is not None:
        part.diverging_epoch = m.FetchResponseEpochEndOffset(
            epoch=answer.diverging.epoch, end_offset=answer.diverging.end_offset
        )
    if answer.snapshot_id is not None:
        part.snapshot_id = m.FetchResponseSnapshotId(
            end_offset=answer.snapshot_id.end_offset, epoch=answer.snapshot_id.epoch
        )
    topic = m.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[part])
    return m.FetchResponse(responses=[topic])


def snapshot_request(
    source: SnapshotSource, *, node_id: int, cluster_id: str, position: int, max_bytes: int
) -> m.FetchSnapshotRequest:
    part = m.FetchSnapshotRequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=source.epoch,
        snapshot_id=m.FetchSnapshotRequestSnapshotId(
            end_offset=source.snapshot_id.end_offset, epoch=source.snapshot_id.epoch
        ),
        position=position,
    )
    return m.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=node_id,
        max_bytes=max_bytes,
        topics=[m.FetchSnapshotRequestTopicSnapshot(name=TOPIC, partitions=[part])],
    )


def only_partition(topics: Sequence[Any]) -> Any:
    """The one partition that the quorum has, out of a request; None when it names another."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    name = getattr(topics[0], "topic_name", None) or getattr(topics[0], "name", None)
    return topics[0].partitions[0] if name == TOPIC else None


def is_metadata_topic(topic: m.FetchTopic) -> bool:
    """Named by its id, or in versions that know no ids by its name."""
    return topic.topic_id == TOPIC_ID or (not any(topic.topic_id) and topic.topic == TOPIC)


def node(number: int) -> int | None:
    return None if number == _NOBODY else number


def number(node_id: int | None) -> int:
    return _NOBODY if node_id is None else node_id
