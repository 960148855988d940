"""A leader: what it answers to fetches, what it may call committed, when it gives up."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from broker.protocol.errors import ErrorCode
from broker.raft.effects import AnnounceEnd, AnnounceLeader, AppendLeaderChange, Effect, Reply
from broker.raft.errors import BrokenRuleError
from broker.raft.events import (
    EpochAnswer,
    EpochEnd,
    FetchAnswer,
    FetchRequested,
    SnapshotId,
    SnapshotRequested,
)
from broker.raft.log_view import LogView
from broker.raft.member_state import MemberState
from broker.raft.roles import Leader, Progress, Resigned

QUORUM_PATIENCE = 1.5
"""In fetch timeouts: longer than a follower waits, so that those who can elect another do."""

OBSERVER_MEMORY_S = 300.0

READER_ID = -1


@dataclass(frozen=True, slots=True)
class ReplicaProgress:
    """One row of DescribeQuorum. None: not known in this epoch."""

    replica_id: int
    is_voter: bool
    log_end_offset: int | None
    last_fetch_at: float | None
    last_caught_up_at: float | None


def begin(member: MemberState, granted_by: tuple[int, ...], now: float) -> list[Effect]:
    leader = Leader(
        epoch_start_offset=member.log.end_offset,
        began_at=now,
        announce_at=now + member.timeouts.fetch_s / 2,
        replicas={voter: Progress() for voter in member.others},
    )
    member.lead(leader)
    return [
        AppendLeaderChange(member.epoch, member.voters, granted_by),
        *(AnnounceLeader(voter, member.epoch) for voter in member.others),
    ]


def on_fetch_requested(member: MemberState, event: FetchRequested, now: float) -> list[Effect]:
    error = _refusal(member, event.replica_id, event.epoch, now)
    leader = member.standing
    if error is ErrorCode.NONE and event.fetch_offset < 0:
        error = ErrorCode.INVALID_REQUEST
    if error is not ErrorCode.NONE or not isinstance(leader, Leader):
        return [Reply(event.token, FetchAnswer(member.epoch, member.leader_id, error=error))]
    progress = _hear(member, leader, event.replica_id, now)
    advanced: list[Effect] = []
    parting = find_parting(member.log, event.fetch_offset, event.last_fetched_epoch)
    if parting is None and progress is not None:
        # Only who agrees holds what it says it holds (KAFKA-13141).
        _record_fetch(progress, event.fetch_offset, member.log.end_offset, now)
        advanced = advance(member, leader)
    answer = FetchAnswer(
        member.epoch,
        member.node_id,
        member.high_watermark,
        diverging=parting if isinstance(parting, EpochEnd) else None,
        snapshot_id=parting if isinstance(parting, SnapshotId) else None,
    )
    return [*advanced, Reply(event.token, answer)]


def on_snapshot_requested(
    member: MemberState, event: SnapshotRequested, now: float
) -> list[Effect]:
    error = _refusal(member, event.replica_id, event.epoch, now)
    if isinstance(member.standing, Leader) and error is ErrorCode.NONE:
        _hear(member, member.standing, event.replica_id, now)
    return [Reply(event.token, EpochAnswer(member.epoch, member.leader_id, error))]


def _refusal(member: MemberState, replica_id: int, epoch: int, now: float) -> ErrorCode:
    if replica_id == member.node_id:
        return ErrorCode.INVALID_REQUEST
    if epoch < member.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > member.epoch:
        if replica_id not in member.voters:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        member.detach(epoch, now)
    if not isinstance(member.standing, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def _hear(member: MemberState, leader: Leader, replica_id: int, now: float) -> Progress | None:
    if replica_id == READER_ID:
        return None
    if replica_id not in leader.replicas:
        leader.replicas = {
            known: progress
            for known, progress in leader.replicas.items()
            if known in member.voters or now - progress.heard_at < OBSERVER_MEMORY_S
        }
        leader.replicas[replica_id] = Progress()
    progress = leader.replicas[replica_id]
    progress.heard_at = now
    return progress


def _record_fetch(progress: Progress, fetch_offset: int, leader_end: int, now: float) -> None:
    if fetch_offset >= leader_end:
        progress.caught_up_at = now
    elif progress.leader_end_then >= 0 and fetch_offset >= progress.leader_end_then:
        # It has by now all that there was when it fetched before.
        progress.caught_up_at = max(progress.caught_up_at, progress.fetched_at)
    progress.fetched_at = now
    progress.leader_end_then = leader_end
    progress.end_offset = fetch_offset


def find_parting(log: LogView, offset: int, last_epoch: int) -> EpochEnd | SnapshotId | None:
    """Where to send a replica whose log is no prefix of this one; None if it is one."""
    if offset == 0 and log.start_offset == 0:
        return None
    if offset <= log.start_offset:
        if log.snapshot_id is None:
            raise BrokenRuleError(
                f"the log starts at {log.start_offset}, and no snapshot tells what came before"
            )
        return None if log.snapshot_id == (offset, last_epoch) else log.snapshot_id
    theirs = EpochEnd(*log.end_offset_for_epoch(last_epoch))
    if theirs.epoch == last_epoch and theirs.end_offset >= offset:
        return None
    return theirs


def advance(member: MemberState, leader: Leader) -> list[Effect]:
    offset = majority_offset(member, leader)
    return member.raise_high_watermark(offset) if may_commit(leader, offset) else []


def majority_offset(member: MemberState, leader: Leader) -> int:
    """A majority of the voters has all below it on disk. A follower fetches what follows that."""
    held = [member.log.flushed_offset, *(leader.replicas[v].end_offset for v in member.others)]
    return sorted(held, reverse=True)[member.majority - 1]


def may_commit(leader: Leader, offset: int) -> bool:
    """Only with a record of this epoch: one of an older epoch may yet be overwritten, though a
    majority holds it (figure 8 of the Raft paper, KAFKA-12619)."""
    return offset > leader.epoch_start_offset


def wake_at(member: MemberState, leader: Leader) -> float:
    return min(_quorum_deadline(member, leader), leader.announce_at) if member.others else inf


def _quorum_deadline(member: MemberState, leader: Leader) -> float:
    """KAFKA-15489: by then a majority, this node included, must have been heard."""
    heard = [max(leader.replicas[v].heard_at, leader.began_at) for v in member.others]
    heard.append(inf)
    oldest = sorted(heard, reverse=True)[member.majority - 1]
    return oldest + QUORUM_PATIENCE * member.timeouts.fetch_s


def on_time_passed(member: MemberState, leader: Leader, now: float) -> list[Effect]:
    if now >= _quorum_deadline(member, leader):
        return resign(member, leader, now)
    if now < leader.announce_at:
        return []
    pause_s = member.timeouts.fetch_s / 2
    leader.announce_at = now + pause_s
    return [
        AnnounceLeader(voter, member.epoch)
        for voter in member.others
        if now - leader.replicas[voter].heard_at >= pause_s
    ]


def resign(member: MemberState, leader: Leader, now: float) -> list[Effect]:
    member.standing = Resigned(now + member.election_wait_s())
    successors = tuple(sorted(member.others, key=lambda v: -leader.replicas[v].end_offset))
    return [AnnounceEnd(voter, member.epoch, successors) for voter in member.others]


def describe(member: MemberState, leader: Leader, now: float) -> tuple[ReplicaProgress, ...]:
    """Voters first, this node among them."""
    rows = {member.node_id: ReplicaProgress(member.node_id, True, member.log.end_offset, now, now)}
    for replica, progress in leader.replicas.items():
        rows[replica] = ReplicaProgress(
            replica,
            replica in member.voters,
            None if progress.end_offset < 0 else progress.end_offset,
            None if progress.heard_at == -inf else progress.heard_at,
            None if progress.caught_up_at == -inf else progress.caught_up_at,
        )
    return tuple(sorted(rows.values(), key=lambda row: (not row.is_voter, row.replica_id)))
