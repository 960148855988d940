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
from broker.raft.quorum import Quorum
from broker.raft.roles import Campaign, Follower, Unattached


def fetch_position(quorum: Quorum) -> FetchPosition | None:
    log = quorum.log
    if log.flushed_offset < log.end_offset:
        # The leader counts what is asked for as held, and held means on disk.
        return None
    match quorum.standing:
        case Follower(snapshot=None) if quorum.leader_of_epoch is not None:
            to = quorum.leader_of_epoch
        case Unattached() if not quorum.is_voter:
            to = quorum.voters[quorum.asked_around % len(quorum.voters)]
        case _:
            return None
    return FetchPosition(to, quorum.epoch, log.end_offset, log.last_epoch)


def awaits(quorum: Quorum, asked: FetchPosition) -> bool:
    """Whether an answer to that can still count."""
    return asked == fetch_position(quorum) or _doubts(quorum, asked)


def _doubts(quorum: Quorum, asked: FetchPosition) -> bool:
    """The leader that was asked is still believed by the rest, for all this voter knows."""
    standing = quorum.standing
    return (
        isinstance(standing, Campaign)
        and standing.is_pre_vote
        and (asked.to, asked.epoch) == (quorum.leader_of_epoch, quorum.epoch)
    )


def on_fetch_answered(quorum: Quorum, event: FetchAnswered, now: float) -> list[Effect]:
    answer = event.answer
    leads = (answer.epoch, answer.leader_id) == (quorum.epoch, event.asked.to)
    if leads and not answer.error and _doubts(quorum, event.asked):
        # It only took long. Else one that always takes as long would never be followed.
        quorum.regain_faith(now)
    is_current = event.asked == fetch_position(quorum)
    standing = quorum.standing
    quorum.learn(answer.epoch, answer.leader_id, now)
    if not is_current or quorum.standing is not standing:
        # Late, or a copy: the log has moved on, and the answer belongs to where it was.
        return []
    if isinstance(standing, Unattached):
        quorum.ask_around()
        return []
    assert isinstance(standing, Follower)
    if answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        quorum.lose_faith(standing, now, quorum.spread_s())
        return []
    if answer.error or answer.epoch != quorum.epoch or answer.leader_id != event.asked.to:
        return []
    quorum.heard_from_leader(standing, now)
    return _take(quorum, standing, event.asked, answer, has_records=event.has_records)


def _take(
    quorum: Quorum,
    follower: Follower,
    asked: FetchPosition,
    answer: FetchAnswer,
    *,
    has_records: bool,
) -> list[Effect]:
    if answer.snapshot_id is not None:
        return _begin_snapshot(quorum, follower, answer.snapshot_id)
    if answer.diverging is not None:
        # The high watermark in such an answer is about another log than this one (KAFKA-14704).
        return _truncate(quorum, answer.diverging)
    follower.leader_high_watermark = answer.high_watermark
    if has_records:
        return [AppendFetched(asked.offset)]
    return advance(quorum, follower)


def _truncate(quorum: Quorum, theirs: EpochEnd) -> list[Effect]:
    log = quorum.log
    point = truncation_point(log, theirs)
    check_truncation(quorum, point)
    if point >= log.end_offset:
        raise BrokenRuleError(
            f"{_leader(quorum)} says that this log parts from its own in epoch {theirs.epoch} at "
            f"{theirs.end_offset}, but it ends there at {point}"
        )
    return [TruncateTo(point)]


def truncation_point(log: LogView, theirs: EpochEnd) -> int:
    ours = EpochEnd(*log.end_offset_for_epoch(theirs.epoch))
    if ours.epoch == theirs.epoch:
        return min(ours.end_offset, theirs.end_offset)
    # The leader knows an epoch that this log does not: ask again from the one before.
    return ours.end_offset


def check_truncation(quorum: Quorum, offset: int) -> None:
    """KAFKA-12460: committed records do not go away because a leader lost them."""
    if offset < quorum.high_watermark:
        raise BrokenRuleError(
            f"{_leader(quorum)} wants the log cut to {offset}, but all below "
            f"{quorum.high_watermark} is committed: a majority of the voters lost its logs"
        )


def advance(quorum: Quorum, follower: Follower) -> list[Effect]:
    return quorum.raise_high_watermark(
        min(follower.leader_high_watermark, quorum.log.flushed_offset)
    )


def on_fetch_failed(quorum: Quorum, event: FetchFailed, now: float) -> list[Effect]:
    if event.asked == fetch_position(quorum):
        if isinstance(quorum.standing, Unattached):
            quorum.ask_around()
        elif isinstance(quorum.standing, Follower) and event.refused:
            quorum.lose_faith(quorum.standing, now, quorum.spread_s())
    return []


def _begin_snapshot(quorum: Quorum, follower: Follower, snapshot_id: SnapshotId) -> list[Effect]:
    if snapshot_id.end_offset <= quorum.high_watermark:
        raise BrokenRuleError(
            f"{_leader(quorum)} sends a snapshot that ends at {snapshot_id.end_offset}, but all "
            f"below {quorum.high_watermark} is committed here"
        )
    assert quorum.leader_of_epoch is not None
    follower.snapshot = SnapshotSource(quorum.leader_of_epoch, quorum.epoch, snapshot_id)
    return [FetchSnapshot(follower.snapshot)]


def _expects(quorum: Quorum, asked: SnapshotSource) -> Follower | None:
    """None when the snapshot is one that nobody waits for any more."""
    standing = quorum.standing
    return standing if isinstance(standing, Follower) and standing.snapshot == asked else None


def _leader(quorum: Quorum) -> str:
    return f"leader {quorum.leader_of_epoch} of epoch {quorum.epoch}"


def on_snapshot_progressed(quorum: Quorum, event: SnapshotProgressed, now: float) -> list[Effect]:
    follower = _expects(quorum, event.asked)
    if follower is not None:
        quorum.heard_from_leader(follower, now)
    return []


def on_snapshot_fetched(quorum: Quorum, event: SnapshotFetched, now: float) -> list[Effect]:
    """Installing a late one would throw away what the log got since, and the leader counts on."""
    follower = _expects(quorum, event.asked)
    if follower is None:
        return []
    follower.snapshot = None
    quorum.heard_from_leader(follower, now)
    snapshot_id = event.asked.snapshot_id
    return [
        InstallSnapshot(snapshot_id),
        *quorum.raise_high_watermark(snapshot_id.end_offset),
    ]


def on_snapshot_failed(quorum: Quorum, event: SnapshotFailed) -> list[Effect]:
    follower = _expects(quorum, event.asked)
    if follower is not None:
        follower.snapshot = None
    return []
