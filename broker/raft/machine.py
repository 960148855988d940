"""One member of the metadata quorum: events in, effects out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from broker.raft import announcements, elections, following, leading, timers
from broker.raft.effects import Effect, Persist, RoleChanged
from broker.raft.events import (
    BeginEpochAnswered,
    BeginEpochRequested,
    EndEpochAnswered,
    EndEpochRequested,
    Event,
    FetchAnswered,
    FetchFailed,
    FetchPosition,
    FetchRequested,
    LogFlushed,
    MakeWay,
    QuorumState,
    Resign,
    SnapshotFailed,
    SnapshotFetched,
    SnapshotProgressed,
    SnapshotRequested,
    TimePassed,
    VoteAnswered,
    VoteRequested,
)
from broker.raft.leading import ReplicaProgress
from broker.raft.log_view import LogView, check_fit
from broker.raft.member_state import MemberState, QuorumTimeouts
from broker.raft.roles import Campaign, Follower, Leader, Role


class Raft:
    """The shell runs the fetch loop: while there is a `fetch_position` it asks for what is there.

    It steps `TimePassed` when `wake_at` has come; both may change with every step. `draw` gives
    numbers from 0 up to 1, for waits that must differ between members.
    """

    def __init__(
        self,
        node_id: int,
        voters: Sequence[int],
        state: QuorumState,
        log: LogView,
        timeouts: QuorumTimeouts,
        draw: Callable[[], float],
        now: float,
    ) -> None:
        """Raises UnfitStateError. A node that is not among the voters is an observer."""
        check_fit(state, log)
        self._member = MemberState(node_id, tuple(sorted(voters)), log, timeouts, draw)
        self._member.restore(state, now)

    def step(self, event: Event, now: float) -> list[Effect]:
        """Raises BrokenRuleError; the member must not go on then."""
        member = self._member
        state, standing = member.state, (member.role, member.epoch, member.leader_id)
        effects = self._handle(event, now)
        changes: list[Effect] = []
        # Here and nowhere else, so that no rule can speak of what is not on disk yet.
        if member.state != state:
            changes.append(Persist(member.state))
        if (member.role, member.epoch, member.leader_id) != standing:
            changes.append(RoleChanged(member.role, member.epoch, member.leader_id))
        return changes + effects

    def _handle(self, event: Event, now: float) -> list[Effect]:
        member = self._member
        match event:
            case TimePassed():
                return timers.on_time_passed(member, now)
            case VoteRequested():
                return elections.on_vote_requested(member, event, now)
            case VoteAnswered():
                return elections.on_vote_answered(member, event, now)
            case BeginEpochRequested():
                return announcements.on_begin_epoch(member, event, now)
            case EndEpochRequested():
                return announcements.on_end_epoch(member, event, now)
            case BeginEpochAnswered() | EndEpochAnswered():
                if event.from_id in member.others:
                    member.learn(event.answer.epoch, event.answer.leader_id, now)
                return []
            case FetchRequested():
                return leading.on_fetch_requested(member, event, now)
            case SnapshotRequested():
                return leading.on_snapshot_requested(member, event, now)
            case FetchAnswered():
                return following.on_fetch_answered(member, event, now)
            case FetchFailed():
                return following.on_fetch_failed(member, event, now)
            case SnapshotProgressed():
                return following.on_snapshot_progressed(member, event, now)
            case SnapshotFetched():
                return following.on_snapshot_fetched(member, event, now)
            case SnapshotFailed():
                return following.on_snapshot_failed(member, event)
            case LogFlushed():
                return self._on_log_flushed()
            case Resign():
                return self._on_resign(now)
            case MakeWay():
                return self._on_make_way(now)
        assert_never(event)

    def _on_log_flushed(self) -> list[Effect]:
        match self._member.standing:
            case Leader() as leader:
                return leading.advance(self._member, leader)
            case Follower() as follower:
                return following.advance(self._member, follower)
            case _:
                return []

    def _on_resign(self, now: float) -> list[Effect]:
        member = self._member
        member.stopping = True
        match member.standing:
            case Leader() as leader:
                return leading.resign(member, leader, now)
            case Campaign():
                member.fall_back(now)
                return []
            case _:
                return []

    def _on_make_way(self, now: float) -> list[Effect]:
        member = self._member
        if isinstance(member.standing, Leader) and member.others:
            return leading.resign(member, member.standing, now)
        return []

    @property
    def node_id(self) -> int:
        return self._member.node_id

    @property
    def voters(self) -> tuple[int, ...]:
        return self._member.voters

    @property
    def is_voter(self) -> bool:
        return self._member.is_voter

    @property
    def role(self) -> Role:
        return self._member.role

    @property
    def epoch(self) -> int:
        return self._member.epoch

    @property
    def leader_id(self) -> int | None:
        return self._member.leader_id

    @property
    def voted_for(self) -> int | None:
        return self._member.voted_for

    @property
    def high_watermark(self) -> int:
        """All below it is committed. It starts behind the snapshot, and never goes back."""
        return self._member.high_watermark

    @property
    def epoch_start_offset(self) -> int | None:
        """Of a leader: where its leader-change record is. When that is committed, all before it
        is applied, and the leader may act on what it knows."""
        standing = self._member.standing
        return standing.epoch_start_offset if isinstance(standing, Leader) else None

    @property
    def accepts_appends(self) -> bool:
        """Leads, and the leader-change record of the epoch is in the log."""
        return self.role is Role.LEADER and self._member.log.last_epoch == self.epoch

    @property
    def fetch_position(self) -> FetchPosition | None:
        """None: nothing to fetch now, or nobody to ask."""
        return following.fetch_position(self._member)

    def awaits(self, asked: FetchPosition) -> bool:
        """Whether an answer to that can still count."""
        return following.awaits(self._member, asked)

    @property
    def wake_at(self) -> float:
        return timers.wake_at(self._member)

    def replicas(self, now: float) -> tuple[ReplicaProgress, ...]:
        """What a leader knows of all replicas; nothing on any other node."""
        standing = self._member.standing
        if not isinstance(standing, Leader):
            return ()
        return leading.describe(self._member, standing, now)
