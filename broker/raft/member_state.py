"""What one member knows of its quorum, and how it enters an epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from broker.raft.effects import Effect, HighWatermarkAdvanced
from broker.raft.events import QuorumState
from broker.raft.log_view import LogView
from broker.raft.roles import Campaign, Follower, Leader, Resigned, Role, Standing, Unattached


@dataclass(frozen=True, slots=True)
class QuorumTimeouts:
    """`controller.quorum.election.timeout.ms`, `.fetch.timeout.ms`, `.election.backoff.max.ms`."""

    election_s: float = 1.0
    fetch_s: float = 2.0
    backoff_max_s: float = 1.0


class MemberState:
    """Shared by the rules. Those who may see it from outside look at `machine.Raft`."""

    def __init__(
        self,
        node_id: int,
        voters: tuple[int, ...],
        log: LogView,
        timeouts: QuorumTimeouts,
        draw: Callable[[], float],
    ) -> None:
        self.node_id = node_id
        self.voters = voters
        self.log = log
        self.timeouts = timeouts
        self.is_voter = node_id in voters
        self.others = tuple(voter for voter in voters if voter != node_id)
        self.majority = len(voters) // 2 + 1

        self.epoch = 0
        self.voted_for: int | None = None
        self.leader_of_epoch: int | None = None
        self.standing: Standing = Unattached(inf)
        # A snapshot holds nothing but what was committed.
        self.high_watermark = 0 if log.snapshot_id is None else log.snapshot_id.end_offset
        self.stopping = False
        self.asked_around = 0
        """How many voters an observer without a leader has tried."""

        self._draw = draw
        self._lost_elections = 0

    @property
    def state(self) -> QuorumState:
        return QuorumState(self.epoch, self.voted_for, self.leader_of_epoch)

    @property
    def role(self) -> Role:
        return self.standing.role

    @property
    def leader_id(self) -> int | None:
        """Whom to send others to: nobody, once this node has resigned."""
        return None if self.role is Role.RESIGNED else self.leader_of_epoch

    def restore(self, state: QuorumState, now: float) -> None:
        """A leader that comes back has resigned: it may have lost what it wrote last."""
        self.epoch, self.voted_for = state.epoch, state.voted_for
        if state.leader_id in self.voters:
            self.leader_of_epoch = state.leader_id
        if not self.others:
            self._stand_down(now)
        elif self.leader_of_epoch in self.others:
            self._begin_to_follow(now)
        else:
            self._stand_down(now + self.election_wait_s())

    def detach(self, epoch: int, now: float) -> None:
        """Enters an epoch whose leader is not known."""
        self._enter(epoch)
        self._stand_down(now + self.election_wait_s())

    def follow(self, epoch: int, leader_id: int, now: float) -> None:
        self._enter(epoch)
        assert self.leader_of_epoch in (None, leader_id)
        self.leader_of_epoch = leader_id
        self._begin_to_follow(now)

    def lead(self, leader: Leader) -> None:
        self.leader_of_epoch = self.node_id
        self.standing = leader
        self._lost_elections = 0

    def open_epoch(self) -> None:
        """A candidate's vote for itself is its one vote in the new epoch."""
        self._enter(self.epoch + 1)
        self.voted_for = self.node_id

    def campaign(self, *, is_pre_vote: bool, now: float) -> None:
        deadline = now + self.election_wait_s()
        self.standing = Campaign(deadline, is_pre_vote, votes={self.node_id: True})

    def learn(self, epoch: int, leader_id: int | None, now: float) -> None:
        """Takes from any answer what is news: a later epoch, or who leads this one."""
        leader = leader_id if leader_id in self.others else None
        if epoch > self.epoch:
            if leader is None:
                self.detach(epoch, now)
            else:
                self.follow(epoch, leader, now)
        elif epoch == self.epoch and leader is not None:
            asks_around = not self.is_voter and isinstance(self.standing, Unattached)
            if self.leader_of_epoch is None or (asks_around and self.leader_of_epoch == leader):
                self.follow(epoch, leader, now)

    def fall_back(self, now: float) -> None:
        """An election came to nothing. The next try comes after a while that grows, and varies."""
        self._lost_elections += 1
        wait_s = self._back_off_s()
        if self.leader_of_epoch in self.others:
            self._begin_to_follow(now)
            assert isinstance(self.standing, Follower)
            self.standing.deadline = now + wait_s
        else:
            self._stand_down(now + wait_s)

    def heard_from_leader(self, follower: Follower, now: float) -> None:
        follower.heard_at = now
        follower.deadline = now + follower.patience_s
        self._lost_elections = 0

    def lose_faith(self, follower: Follower, now: float, wait_s: float) -> None:
        """The leader is known to lead no more; who noticed it too may have this node's vote."""
        follower.heard_at = -inf
        follower.deadline = min(follower.deadline, now + wait_s)
        if not self.is_voter:
            self.ask_around()

    def regain_faith(self, now: float) -> None:
        """The leader was heard after all, and nothing was done yet to have another."""
        self._begin_to_follow(now)

    def ask_around(self) -> None:
        self.standing = Unattached(inf)
        self.asked_around += 1

    def raise_high_watermark(self, offset: int) -> list[Effect]:
        if offset <= self.high_watermark:
            return []
        self.high_watermark = offset
        return [HighWatermarkAdvanced(offset)]

    def election_wait_s(self) -> float:
        """Between one and two election timeouts, so that voters do not stand all at once."""
        return self.timeouts.election_s * (1 + self._draw())

    def spread_s(self) -> float:
        """Up to half an election timeout: followers that lose one leader do so one by one."""
        return self.timeouts.election_s * self._draw() / 2

    def _back_off_s(self) -> float:
        ceiling_s = self.timeouts.backoff_max_s * (1 << min(self._lost_elections, 3)) / 8
        return ceiling_s * (1 + self._draw()) / 2

    def _enter(self, epoch: int) -> None:
        assert epoch >= self.epoch, f"epoch {self.epoch} does not go back to {epoch}"
        if epoch > self.epoch:
            self.epoch = epoch
            self.voted_for = None
            self.leader_of_epoch = None

    def _stand_down(self, deadline: float) -> None:
        if not self.is_voter:
            self.standing = Unattached(inf)
        elif self.leader_of_epoch == self.node_id:
            self.standing = Resigned(deadline)
        else:
            self.standing = Unattached(deadline)

    def _begin_to_follow(self, now: float) -> None:
        patience_s = self.timeouts.fetch_s + self.spread_s()
        self.standing = Follower(deadline=now + patience_s, patience_s=patience_s)
