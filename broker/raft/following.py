"""A follower, voter or observer: what it asks for, and what it makes of the answers."""

from __future__ import annotations

from broker.protocol.errors import ErrorCode
from broker.raft.effects import AppendFetched, Effect, FetchSnapshot, InstallSnapshot, TruncateTo
from broker.raft.errors import BrokenRuleError
from broker.raft.events import (
    EpochEnd,
    FetchAnswer,
    FetchAnswered,
    FetchFailed,
    FetchPosition,
    SnapshotFailed,
    SnapshotFetched,
    SnapshotId,
    SnapshotProgressed,
    SnapshotSource,
)
from broker.raft.log_view import LogView
from broker.raft.member_state import MemberState
from broker.raft.roles import Campaign, Follower, Unattached


def fetch_position(member: MemberState) -> FetchPosition | None:
    log = member.log
    if log.flushed_offset < log.end_offset:
        # The leader counts what is asked for as held, and held means on disk.
        return None
    match member.standing:
        case Follower(snapshot=None) if member.leader_of_epoch is not None:
            to = member.leader_of_epoch
        case Unattached() if not member.is_voter:
            to = member.voters[member.asked_around % len(member.voters)]
        case _:
            return None
    return FetchPosition(to, member.epoch, log.end_offset, log.last_epoch)


def awaits(member: MemberState, asked: FetchPosition) -> bool:
    """Whether an answer to that can still count."""
    return asked == fetch_position(member) or _doubts(member, asked)


def _doubts(member: MemberState, asked: FetchPosition) -> bool:
    """The leader that was asked is still believed by the rest, for all this voter knows."""
    standing = member.standing
    return (
        isinstance(standing, Campaign)
        and standing.is_pre_vote
        and (asked.to, asked.epoch) == (member.leader_of_epoch, member.epoch)
    )


def on_fetch_answered(member: MemberState, event: FetchAnswered, now: float) -> list[Effect]:
    answer = event.answer
    leads = (answer.epoch, answer.leader_id) == (member.epoch, event.asked.to)
    if leads and not answer.error and _doubts(member, event.asked):
        # It only took long. Else one that always takes as long would never be followed.
        member.regain_faith(now)
    is_current = event.asked == fetch_position(member)
    standing = member.standing
    member.learn(answer.epoch, answer.leader_id, now)
    if not is_current or member.standing is not standing:
        # Late, or a copy: the log has moved on, and the answer belongs to where it was.
        return []
    if isinstance(standing, Unattached):
        member.ask_around()
        return []
    assert isinstance(standing, Follower)
    if answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        member.lose_faith(standing, now, member.spread_s())
        return []
    if answer.error or answer.epoch != member.epoch or answer.leader_id != event.asked.to:
        return []
    member.heard_from_leader(standing, now)
    return _take(member, standing, event.asked, answer, has_records=event.has_records)


def _take(
    member: MemberState,
    follower: Follower,
    asked: FetchPosition,
    answer: FetchAnswer,
    *,
    has_records: bool,
) -> list[Effect]:
    if answer.snapshot_id is not None:
        return _begin_snapshot(member, follower, answer.snapshot_id)
    if answer.diverging is not None:
        # The high watermark in such an answer is about another log than this one (KAFKA-14704).
        return _truncate(member, answer.diverging)
    follower.leader_high_watermark = answer.high_watermark
    if has_records:
        return [AppendFetched(asked.offset)]
    return advance(member, follower)


def _truncate(member: MemberState, theirs: EpochEnd) -> list[Effect]:
    log = member.log
    point = truncation_point(log, theirs)
    check_truncation(member, point)
    if point >= log.end_offset:
        raise BrokenRuleError(
            f"{_leader(member)} says that this log parts from its own in epoch {theirs.epoch} at "
            f"{theirs.end_offset}, but it ends there at {point}"
        )
    return [TruncateTo(point)]


def truncation_point(log: LogView, theirs: EpochEnd) -> int:
    ours = EpochEnd(*log.end_offset_for_epoch(theirs.epoch))
    if ours.epoch == theirs.epoch:
        return min(ours.end_offset, theirs.end_offset)
    # The leader knows an epoch that this log does not: ask again from the one before.
    return ours.end_offset


def check_truncation(member: MemberState, offset: int) -> None:
    """KAFKA-12460: committed records do not go away because a leader lost them."""
    if offset < member.high_watermark:
        raise BrokenRuleError(
            f"{_leader(member)} wants the log cut to {offset}, but all below "
            f"{member.high_watermark} is committed: a majority of the voters lost its logs"
        )


def advance(member: MemberState, follower: Follower) -> list[Effect]:
    return member.raise_high_watermark(
        min(follower.leader_high_watermark, member.log.flushed_offset)
    )


def on_fetch_failed(member: MemberState, event: FetchFailed, now: float) -> list[Effect]:
    if event.asked == fetch_position(member):
        if isinstance(member.standing, Unattached):
            member.ask_around()
        elif isinstance(member.standing, Follower) and event.refused:
            member.lose_faith(member.standing, now, member.spread_s())
    return []


def _begin_snapshot(
    member: MemberState, follower: Follower, snapshot_id: SnapshotId
) -> list[Effect]:
    if snapshot_id.end_offset <= member.high_watermark:
        raise BrokenRuleError(
            f"{_leader(member)} sends a snapshot that ends at {snapshot_id.end_offset}, but all "
            f"below {member.high_watermark} is committed here"
        )
    assert member.leader_of_epoch is not None
    follower.snapshot = SnapshotSource(member.leader_of_epoch, member.epoch, snapshot_id)
    return [FetchSnapshot(follower.snapshot)]


def _expects(member: MemberState, asked: SnapshotSource) -> Follower | None:
    """None when the snapshot is one that nobody waits for any more."""
    standing = member.standing
    return standing if isinstance(standing, Follower) and standing.snapshot == asked else None


def _leader(member: MemberState) -> str:
    return f"leader {member.leader_of_epoch} of epoch {member.epoch}"


def on_snapshot_progressed(
    member: MemberState, event: SnapshotProgressed, now: float
) -> list[Effect]:
    follower = _expects(member, event.asked)
    if follower is not None:
        member.heard_from_leader(follower, now)
    return []


def on_snapshot_fetched(member: MemberState, event: SnapshotFetched, now: float) -> list[Effect]:
    """Installing a late one would throw away what the log got since, and the leader counts on."""
    follower = _expects(member, event.asked)
    if follower is None:
        return []
    follower.snapshot = None
    member.heard_from_leader(follower, now)
    snapshot_id = event.asked.snapshot_id
    return [
        InstallSnapshot(snapshot_id),
        *member.raise_high_watermark(snapshot_id.end_offset),
    ]


def on_snapshot_failed(member: MemberState, event: SnapshotFailed) -> list[Effect]:
    follower = _expects(member, event.asked)
    if follower is not None:
        follower.snapshot = None
    return []
