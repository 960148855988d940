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
from broker.raft.quorum import Quorum, QuorumTimeouts
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
        self._quorum = Quorum(node_id, tuple(sorted(voters)), log, timeouts, draw)
        self._quorum.restore(state, now)

    def step(self, event: Event, now: float) -> list[Effect]:
        """Raises BrokenRuleError; the member must not go on then."""
        quorum = self._quorum
        state, standing = quorum.state, (quorum.role, quorum.epoch, quorum.leader_id)
        effects = self._handle(event, now)
        changes: list[Effect] = []
        # Here and nowhere else, so that no rule can speak of what is not on disk yet.
        if quorum.state != state:
            changes.append(Persist(quorum.state))
        if (quorum.role, quorum.epoch, quorum.leader_id) != standing:
            changes.append(RoleChanged(quorum.role, quorum.epoch, quorum.leader_id))
        return changes + effects

    def _handle(self, event: Event, now: float) -> list[Effect]:
        quorum = self._quorum
        match event:
            case TimePassed():
                return timers.on_time_passed(quorum, now)
            case VoteRequested():
                return elections.on_vote_requested(quorum, event, now)
            case VoteAnswered():
                return elections.on_vote_answered(quorum, event, now)
            case BeginEpochRequested():
                return announcements.on_begin_epoch(quorum, event, now)
            case EndEpochRequested():
                return announcements.on_end_epoch(quorum, event, now)
            case BeginEpochAnswered() | EndEpochAnswered():
                if event.from_id in quorum.others:
                    quorum.learn(event.answer.epoch, event.answer.leader_id, now)
                return []
            case FetchRequested():
                return leading.on_fetch_requested(quorum, event, now)
            case SnapshotRequested():
                return leading.on_snapshot_requested(quorum, event, now)
            case FetchAnswered():
                return following.on_fetch_answered(quorum, event, now)
            case FetchFailed():
                return following.on_fetch_failed(quorum, event, now)
            case SnapshotProgressed():
                return following.on_snapshot_progressed(quorum, event, now)
            case SnapshotFetched():
                return following.on_snapshot_fetched(quorum, event, now)
            case SnapshotFailed():
                return following.on_snapshot_failed(quorum, event)
            case LogFlushed():
                return self._on_log_flushed()
            case Resign():
                return self._on_resign(now)
            case MakeWay():
                return self._on_make_way(now)
        assert_never(event)

    def _on_log_flushed(self) -> list[Effect]:
        match self._quorum.standing:
            case Leader() as leader:
                return leading.advance(self._quorum, leader)
            case Follower() as follower:
                return following.advance(self._quorum, follower)
            case _:
                return []

    def _on_resign(self, now: float) -> list[Effect]:
        quorum = self._quorum
        quorum.stopping = True
        match quorum.standing:
            case Leader() as leader:
                return leading.resign(quorum, leader, now)
            case Campaign():
                quorum.fall_back(now)
                return []
            case _:
                return []

    def _on_make_way(self, now: float) -> list[Effect]:
        quorum = self._quorum
        if isinstance(quorum.standing, Leader) and quorum.others:
            return leading.resign(quorum, quorum.standing, now)
        return []

    @property
    def node_id(self) -> int:
        return self._quorum.node_id

    @property
    def voters(self) -> tuple[int, ...]:
        return self._quorum.voters

    @property
    def is_voter(self) -> bool:
        return self._quorum.is_voter

    @property
    def role(self) -> Role:
        return self._quorum.role

    @property
    def epoch(self) -> int:
        return self._quorum.epoch

    @property
    def leader_id(self) -> int | None:
        return self._quorum.leader_id

    @property
    def voted_for(self) -> int | None:
        return self._quorum.voted_for

    @property
    def high_watermark(self) -> int:
        """All below it is committed. It starts behind the snapshot, and never goes back."""
        return self._quorum.high_watermark

    @property
    def epoch_start_offset(self) -> int | None:
        """Of a leader: where its leader-change record is. When that is committed, all before it
        is applied, and the leader may act on what it knows."""
        standing = self._quorum.standing
        return standing.epoch_start_offset if isinstance(standing, Leader) else None

    @property
    def accepts_appends(self) -> bool:
        """Leads, and the leader-change record of the epoch is in the log."""
        return self.role is Role.LEADER and self._quorum.log.last_epoch == self.epoch

    @property
    def fetch_position(self) -> FetchPosition | None:
        """None: nothing to fetch now, or nobody to ask."""
        return following.fetch_position(self._quorum)

    def awaits(self, asked: FetchPosition) -> bool:
        """Whether an answer to that can still count."""
        return following.awaits(self._quorum, asked)

    @property
    def wake_at(self) -> float:
        return timers.wake_at(self._quorum)

    def replicas(self, now: float) -> tuple[ReplicaProgress, ...]:
        """What a leader knows of all replicas; nothing on any other node."""
        standing = self._quorum.standing
        if not isinstance(standing, Leader):
            return ()
        return leading.describe(self._quorum, standing, now)
