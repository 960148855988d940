"""What a member of the quorum answers the others, and those who ask how the quorum is."""

from __future__ import annotations

import asyncio
from typing import Any

from broker.disk.interface import ColdReadError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from broker.quorum import wire_form
from broker.quorum.metadata_log import TOPIC as _TOPIC
from broker.quorum.quorum import Quorum
from broker.quorum.wire_form import number
from broker.raft import events as e
from broker.raft.roles import Role
from broker.watchers import wait_for_any
from broker.world import WallClock

_FETCH_BYTES_MAX = 8 << 20


async def vote(quorum: Quorum, body: m.VoteRequest) -> m.VoteResponse:
    part = wire_form.only_partition(body.topics)
    refusal = _refusal(quorum, body.cluster_id, part, body.voter_id)
    if refusal:
        return m.VoteResponse(error_code=refusal, topics=[])
    answer: e.VoteAnswer = await quorum.ask(
        lambda token: e.VoteRequested(
            token,
            part.replica_id,
            part.replica_epoch,
            part.last_offset_epoch,
            part.last_offset,
            part.pre_vote,
        )
    )
    told = m.VoteResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        leader_id=number(answer.leader_id),
        leader_epoch=answer.epoch,
        vote_granted=answer.granted,
    )
    return m.VoteResponse(topics=[m.VoteResponseTopicData(topic_name=_TOPIC, partitions=[told])])


async def begin_epoch(
    quorum: Quorum, body: m.BeginQuorumEpochRequest
) -> m.BeginQuorumEpochResponse:
    part = wire_form.only_partition(body.topics)
    refusal = _refusal(quorum, body.cluster_id, part, body.voter_id)
    if refusal:
        return m.BeginQuorumEpochResponse(error_code=refusal, topics=[])
    answer: e.EpochAnswer = await quorum.ask(
        lambda token: e.BeginEpochRequested(token, part.leader_epoch, part.leader_id)
    )
    told = m.BeginQuorumEpochResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        leader_id=number(answer.leader_id),
        leader_epoch=answer.epoch,
    )
    topic = m.BeginQuorumEpochResponseTopicData(topic_name=_TOPIC, partitions=[told])
    return m.BeginQuorumEpochResponse(topics=[topic])


async def end_epoch(quorum: Quorum, body: m.EndQuorumEpochRequest) -> m.EndQuorumEpochResponse:
    part = wire_form.only_partition(body.topics)
    refusal = _refusal(quorum, body.cluster_id, part)
    if refusal:
        return m.EndQuorumEpochResponse(error_code=refusal, topics=[])
    successors = tuple(each.candidate_id for each in part.preferred_candidates)
    answer: e.EpochAnswer = await quorum.ask(
        lambda token: e.EndEpochRequested(
            token, part.leader_epoch, part.leader_id, successors or tuple(part.preferred_successors)
        )
    )
    told = m.EndQuorumEpochResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        leader_id=number(answer.leader_id),
        leader_epoch=answer.epoch,
    )
    topic = m.EndQuorumEpochResponseTopicData(topic_name=_TOPIC, partitions=[told])
    return m.EndQuorumEpochResponse(topics=[topic])


async def fetch(quorum: Quorum, body: m.FetchRequest) -> m.FetchResponse:
    """Held until there is something new, which a raised high watermark is, too."""
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        return m.FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    if not wire_form.is_metadata_topic(body.topics[0]):
        return m.FetchResponse(error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    asked = body.topics[0].partitions[0]
    replica_id = body.replica_state.replica_id if body.replica_state else body.replica_id
    refusal = _refusal(quorum, body.cluster_id, asked)
    if refusal:
        return m.FetchResponse(error_code=refusal)

    async def look() -> e.FetchAnswer:
        found: e.FetchAnswer = await quorum.ask(
            lambda token: e.FetchRequested(
                token,
                replica_id,
                asked.current_leader_epoch,
                asked.fetch_offset,
                asked.last_fetched_epoch,
            )
        )
        return found

    answer = await look()
    until = asyncio.get_running_loop().time() + body.max_wait_ms / 1000
    while not answer.error and answer.diverging is None and answer.snapshot_id is None:
        if (
            asked.fetch_offset >= quorum.log.end_offset
            and answer.high_watermark <= asked.high_watermark
            and asyncio.get_running_loop().time() < until
        ):
            await wait_for_any([quorum.changed], until)
        else:
            records = await _read(quorum, answer, asked.fetch_offset, body.max_bytes)
            if records is not None:
                return wire_form.fetch_response(answer, records)
        answer = await look()
    return wire_form.fetch_response(answer, b"")


async def _read(quorum: Quorum, answer: e.FetchAnswer, offset: int, max_bytes: int) -> Any:
    """None when the answer was true a moment ago, and what is in the log now does not go with it:
    another one leads, or a snapshot has taken the place of what was asked for."""
    while True:
        raft = quorum.raft
        if raft.role is not Role.LEADER or raft.epoch != answer.epoch:
            return None
        if not quorum.log.start_offset <= offset <= quorum.log.end_offset:
            return None
        try:
            return quorum.log.read(offset, min(max_bytes, _FETCH_BYTES_MAX)) or b""
        except ColdReadError as cold:
            await cold.warm()


async def fetch_snapshot(quorum: Quorum, body: m.FetchSnapshotRequest) -> m.FetchSnapshotResponse:
    part = wire_form.only_partition(body.topics)
    refusal = _refusal(quorum, body.cluster_id, part)
    if refusal:
        return m.FetchSnapshotResponse(error_code=refusal)
    answer: e.EpochAnswer = await quorum.ask(
        lambda token: e.SnapshotRequested(token, body.replica_id, part.current_leader_epoch)
    )
    wanted = e.SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
    told = m.FetchSnapshotResponsePartitionSnapshot(
        index=0,
        error_code=answer.error,
        snapshot_id=m.FetchSnapshotResponseSnapshotId(
            end_offset=wanted.end_offset, epoch=wanted.epoch
        ),
        current_leader=m.FetchSnapshotResponseLeaderIdAndEpoch(
            leader_id=number(answer.leader_id), leader_epoch=answer.epoch
        ),
        position=part.position,
        unaligned_records=b"",
    )
    if not answer.error:
        try:
            content = await quorum.log.snapshots.read(wanted)
        except FileNotFoundError:
            told.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        else:
            told.size = len(content)
            told.unaligned_records = memoryview(content)[part.position :][: body.max_bytes]
            if not 0 <= part.position <= len(content):
                told.error_code = ErrorCode.POSITION_OUT_OF_RANGE
    topic = m.FetchSnapshotResponseTopicSnapshot(name=_TOPIC, partitions=[told])
    return m.FetchSnapshotResponse(topics=[topic])


def describe(quorum: Quorum, clock: WallClock) -> m.DescribeQuorumResponse:
    raft = quorum.raft
    if not quorum.leads:
        part = m.DescribeQuorumResponsePartitionData(
            partition_index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_id=-1
        )
    else:
        part = m.DescribeQuorumResponsePartitionData(
            partition_index=0,
            leader_id=number(raft.leader_id),
            leader_epoch=raft.epoch,
            high_watermark=raft.high_watermark,
            current_voters=[],
            observers=[],
        )
        now = asyncio.get_running_loop().time()
        for replica in raft.replicas(now):
            end = replica.log_end_offset
            state = m.DescribeQuorumResponseReplicaState(
                replica_id=replica.replica_id,
                log_end_offset=-1 if end is None else end,
                last_fetch_timestamp=_at(replica.last_fetch_at, now, clock),
                last_caught_up_timestamp=_at(replica.last_caught_up_at, now, clock),
            )
            (part.current_voters if replica.is_voter else part.observers).append(state)
    topic = m.DescribeQuorumResponseTopicData(topic_name=_TOPIC, partitions=[part])
    return m.DescribeQuorumResponse(topics=[topic])


def _at(heard_at: float | None, now: float, clock: WallClock) -> int:
    """The loop's time as the wall clock's, -1 for never."""
    return -1 if heard_at is None else clock.now_ms() - int((now - heard_at) * 1000)


def _refusal(quorum: Quorum, cluster_id: str | None, part: Any, voter_id: int = -1) -> ErrorCode:
    settings = quorum.settings
    if cluster_id is not None and cluster_id != settings.cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    if part is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if voter_id not in (-1, settings.node_id):
        return ErrorCode.INVALID_VOTER_KEY
    return ErrorCode.NONE
