"""Replicas that break one rule each, for the stories and the random lives to catch."""

from __future__ import annotations

from collections.abc import Mapping

from broker.metadata.broker_info import BrokerInfo
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode
from broker.replication import follower as following
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch
from broker.replication.follower_progress import FollowerProgress
from broker.replication.in_sync import InSync, IsrProposal
from broker.replication.leader import LeaderState, Progress, Refused
from tests.golden.replication.replica import FetchReply, Replica, Written


class TruncatesToHighWatermark(Replica):
    """R01"""

    def become_follower(self, info: PartitionInfo) -> None:
        self.log.truncate_to(self.log.high_watermark)


class TruncatesByOffsetAlone(Replica):
    """R02: an epoch that the leader does not know is not looked at."""

    def decide(self, reply: FetchReply) -> tuple[following.Effect, ...]:
        effects = super().decide(reply)
        diverging = reply.answer.diverging
        if not effects or diverging is None:
            return effects
        return (following.Truncate(min(diverging.end_offset, self.log.end_offset)),)


class JoinsAtHighWatermark(Replica):
    """R03"""

    class Leader(LeaderState):
        def _may_join(self, follower: FollowerProgress) -> bool:
            return follower.log_end >= self.high_watermark and follower.may_be_in_sync

    leader_type = Leader


class CountsDivergingFetches(Replica):
    """R04"""

    def judge(self, fetch: ReplicaFetch, now: float) -> Progress | Diverging | OutOfRange | Refused:
        outcome = super().judge(fetch, now)
        if isinstance(outcome, Diverging) and self.leader is not None:
            follower = self.leader.followers[fetch.replica]
            self._follow_up(self.leader._count(follower, fetch, now))
        return outcome


class AcknowledgesItsOwnAppend(Replica):
    """R06"""

    def appended(self, written: Written, acks: int, now: float, deadline: float) -> None:
        super().appended(written, 1, now, deadline)


class IgnoresBrokerEpochs(Replica):
    """R08: neither the leader nor, from what it is told, the controller tells two lives apart."""

    class Leader(LeaderState):
        def brokers_changed(self, brokers: Mapping[int, BrokerInfo], now: float) -> Progress:
            before = {node_id: (each.log_end, each.log_start) for node_id, each in self._f()}
            progress = super().brokers_changed(brokers, now)
            for node_id, follower in self._f():
                follower.log_end, follower.log_start = before[node_id]
                follower.broker_epoch = brokers[node_id].broker_epoch
            return progress

        def _f(self) -> list[tuple[int, FollowerProgress]]:
            return list(self._followers.items())

        def check_lag(self, now: float) -> Progress:
            progress = super().check_lag(now)
            for node_id, follower in self._f():
                if progress.proposal is None and self._may_join(follower):
                    proposal = self._in_sync.propose_addition(node_id, self._broker_epochs())
                    progress = Progress(progress.high_watermark_moved, proposal)
            return progress

    leader_type = Leader


class ShrinksAtOnce(Replica):
    """R09"""

    class Leader(LeaderState):
        def check_lag(self, now: float) -> Progress:
            progress = super().check_lag(now)
            if progress.proposal is None:
                return progress
            kept = [member.node_id for member in progress.proposal.isr]
            for follower in self._followers.values():
                follower.counts = follower.node_id in kept
            return Progress(self._advance(now) or progress[0], progress.proposal)

    leader_type = Leader


class ForgetsAProposedAddition(Replica):
    """R09"""

    class Leader(LeaderState):
        def _mark_who_counts(self) -> None:
            super()._mark_who_counts()
            for follower in self._followers.values():
                follower.counts = follower.node_id in self.isr

    leader_type = Leader


class ForgetsARefusedAddition(Replica):
    """R09: as if no other copy of the proposal could be under way."""

    class Leader(LeaderState):
        def proposal_refused(self, proposal: IsrProposal, error: ErrorCode) -> Progress:
            if proposal == self.in_flight and error == ErrorCode.INELIGIBLE_REPLICA:
                self._in_sync = InSync(self.info)
                self._mark_who_counts()
                return Progress()
            return super().proposal_refused(proposal, error)

    leader_type = Leader


class TakesHighWatermarkFirst(Replica):
    """R10"""

    def decide(self, reply: FetchReply) -> tuple[following.Effect, ...]:
        effects = super().decide(reply)
        if effects and reply.answer.diverging is not None:
            return (following.AdvanceHighWatermark(reply.answer.high_watermark), *effects)
        return effects


class FilesEpochsLate(Replica):
    """R12: an epoch begins with its first record."""

    def become_leader(self, info: PartitionInfo, now: float) -> None:
        super().become_leader(info, now)
        self.log.epochs.truncate_from_end(self.log.end_offset)


class ObeysLateAnswers(Replica):
    """R14, Q06: by the offset alone, an old order to truncate looks like a new one."""

    def decide(self, reply: FetchReply) -> tuple[following.Effect, ...]:
        assert self.info is not None
        if reply.question.fetch_offset != self.log.end_offset:
            return ()
        now = following.next_question(self.log, self.info.leader_epoch)
        return following.effects_of(self.log, self.info.leader_epoch, now, reply.answer)


class LeadsFromBeforeItsStart(Replica):
    """A node that has started again acts on metadata of its former life."""

    def may_act_on(self, brokers: Mapping[int, BrokerInfo]) -> bool:
        return True


class ForgetsTheEligible(Replica):
    """R07"""

    class Leader(LeaderState):
        def _mark_who_counts(self) -> None:
            super()._mark_who_counts()
            for follower in self._followers.values():
                follower.counts = follower.counts and follower.node_id not in self.info.elr

    leader_type = Leader


class KeepsWhatNobodyCanCompare(Replica):
    """R02: below the leader's log start."""

    def decide(self, reply: FetchReply) -> tuple[following.Effect, ...]:
        effects = super().decide(reply)
        if reply.answer.diverging is None:
            return effects
        return tuple(
            following.Truncate(each.offset) if isinstance(each, following.StartOver) else each
            for each in effects
        )


class KeepsItsHighWatermark(Replica):
    """R16"""

    def _carry_out(self, effect: following.Effect, reply: FetchReply) -> None:
        before = self.log.high_watermark
        super()._carry_out(effect, reply)
        if isinstance(effect, following.StartOver):
            self.log.high_watermark = before


class TakesRefusalsForRanges(Replica):
    """R20"""

    def decide(self, reply: FetchReply) -> tuple[following.Effect, ...]:
        if reply.answer.error == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return (following.StartOver(0),)
        return super().decide(reply)


class AnswersUnderAnyEpoch(Replica):
    """R14"""

    def judge(self, fetch: ReplicaFetch, now: float) -> Progress | Diverging | OutOfRange | Refused:
        assert self.leader is not None
        return super().judge(fetch._replace(current_leader_epoch=self.leader.leader_epoch), now)


class CommitsBelowMinIsr(Replica):
    """R07"""

    class Leader(LeaderState):
        def _advance(self, now: float) -> bool:
            self.is_under_min_isr = False
            return super()._advance(now)

    leader_type = Leader
