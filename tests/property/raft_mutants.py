"""Members of a quorum that break one rule each, for tests that must notice it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.raft import elections, following, leading
from broker.raft.effects import AppendFetched, Effect, Persist, TruncateTo
from broker.raft.events import (
    Event,
    FetchAnswer,
    FetchAnswered,
    FetchPosition,
    FetchRequested,
    QuorumState,
    VoteRequested,
)
from broker.raft.machine import Raft
from broker.raft.member_state import MemberState
from broker.raft.roles import Follower, Leader
from tests.unit.broker.raft.memory_log import MemoryLog

Patch = pytest.MonkeyPatch


class SpeaksBeforeItPersists(Raft):
    def step(self, event: Event, now: float) -> list[Effect]:
        effects = super().step(event, now)
        return sorted(effects, key=lambda effect: isinstance(effect, Persist))


def speak_before_persisting(patch: Patch) -> type[Raft]:
    """Q01: the vote is out before it is on disk."""
    return SpeaksBeforeItPersists


def count_one_too_few(patch: Patch) -> type[Raft]:
    """A quorum that is no majority."""

    class Hasty(Raft):
        def step(self, event: Event, now: float) -> list[Effect]:
            self._member.majority = len(self.voters) // 2
            return super().step(event, now)

    return Hasty


def commit_an_older_epoch(patch: Patch) -> type[Raft]:
    """Q04: a majority holds it, and nothing of the own epoch behind it."""
    patch.setattr(leading, "may_commit", lambda leader, offset: True)
    return Raft


def count_observers(patch: Patch) -> type[Raft]:
    """Q12: whoever fetches is counted."""

    def majority_offset(member: MemberState, leader: Leader) -> int:
        held = [member.log.flushed_offset, *(r.end_offset for r in leader.replicas.values())]
        return sorted(held, reverse=True)[member.majority - 1]

    patch.setattr(leading, "majority_offset", majority_offset)
    return Raft


def vote_twice(patch: Patch) -> type[Raft]:
    patch.setattr(elections, "is_free_to_vote", lambda member, candidate_id: True)
    return Raft


def vote_without_a_look_at_the_log(patch: Patch) -> type[Raft]:
    patch.setattr(elections, "is_up_to_date", lambda member, event: True)
    return Raft


def vote_for_the_longer_log(patch: Patch) -> type[Raft]:
    """Length before epoch: what is long need not be what was committed."""

    def is_up_to_date(member: MemberState, event: VoteRequested) -> bool:
        log = member.log
        return (event.last_offset, event.last_epoch) >= (log.end_offset, log.last_epoch)

    patch.setattr(elections, "is_up_to_date", is_up_to_date)
    return Raft


def truncate_before_comparing(patch: Patch) -> type[Raft]:
    """Q06: a late copy of an answer is put where it belonged once."""
    obey = following.on_fetch_answered

    def on_fetch_answered(member: MemberState, event: FetchAnswered, now: float) -> list[Effect]:
        asked = event.asked
        is_late = asked.epoch == member.epoch and asked.offset < member.log.end_offset
        if is_late and event.has_records and isinstance(member.standing, Follower):
            return [TruncateTo(asked.offset), AppendFetched(asked.offset)]
        return obey(member, event, now)

    patch.setattr(following, "on_fetch_answered", on_fetch_answered)
    return Raft


def count_a_fetch_that_diverges(patch: Patch) -> type[Raft]:
    """R04: the offset is believed before the epoch is looked at."""
    obey = leading.on_fetch_requested

    def on_fetch_requested(member: MemberState, event: FetchRequested, now: float) -> list[Effect]:
        leader = member.standing
        advanced: list[Effect] = []
        if (
            isinstance(leader, Leader)
            and event.epoch == member.epoch
            and event.replica_id in leader.replicas
        ):
            leader.replicas[event.replica_id].end_offset = event.fetch_offset
            advanced = leading.advance(member, leader)
        return advanced + obey(member, event, now)

    patch.setattr(leading, "on_fetch_requested", on_fetch_requested)
    return Raft


def fetch_before_the_flush(patch: Patch) -> type[Raft]:
    """The leader counts what a power failure takes away."""

    obey = following.fetch_position

    def fetch_position(member: MemberState) -> FetchPosition | None:
        log = member.log
        assert isinstance(log, MemoryLog)
        flushed_offset = log.flushed_offset
        try:
            log.flushed_offset = log.end_offset
            return obey(member)
        finally:
            log.flushed_offset = flushed_offset

    patch.setattr(following, "fetch_position", fetch_position)
    return Raft


def count_what_the_leader_has_not_flushed(patch: Patch) -> type[Raft]:
    def majority_offset(member: MemberState, leader: Leader) -> int:
        held = [member.log.end_offset, *(leader.replicas[v].end_offset for v in member.others)]
        return sorted(held, reverse=True)[member.majority - 1]

    patch.setattr(leading, "majority_offset", majority_offset)
    return Raft


def lead_again_after_a_restart(patch: Patch) -> type[Raft]:
    """The same offsets are written a second time in the same epoch."""
    obey = MemberState.restore

    def restore(member: MemberState, state: QuorumState, now: float) -> None:
        obey(member, state, now)
        if state.leader_id == member.node_id:
            leading.begin(member, (), now)

    patch.setattr(MemberState, "restore", restore)
    return Raft


def commit_all_when_making_way(patch: Patch) -> type[Raft]:
    """What was written and nobody fetched is called done, as a last deed."""
    obey = leading.resign

    def resign(member: MemberState, leader: Leader, now: float) -> list[Effect]:
        return member.raise_high_watermark(member.log.flushed_offset) + obey(member, leader, now)

    class Hurried(Raft):
        def _on_make_way(self, now: float) -> list[Effect]:
            with patch.context() as during:
                during.setattr(leading, "resign", resign)
                return super()._on_make_way(now)

    return Hurried


def believe_the_high_watermark_before_truncating(patch: Patch) -> type[Raft]:
    """R10: the leader's high watermark is about the leader's log."""
    obey = following._take

    def take(
        member: MemberState,
        follower: Follower,
        asked: FetchPosition,
        answer: FetchAnswer,
        *,
        has_records: bool,
    ) -> list[Effect]:
        follower.leader_high_watermark = answer.high_watermark
        first = following.advance(member, follower)
        return first + obey(member, follower, asked, answer, has_records=has_records)

    patch.setattr(following, "_take", take)
    return Raft


MUTANTS: tuple[Callable[[Patch], type[Raft]], ...] = (
    speak_before_persisting,
    count_one_too_few,
    commit_an_older_epoch,
    count_observers,
    vote_twice,
    vote_without_a_look_at_the_log,
    vote_for_the_longer_log,
    truncate_before_comparing,
    count_a_fetch_that_diverges,
    fetch_before_the_flush,
    count_what_the_leader_has_not_flushed,
    lead_again_after_a_restart,
    commit_all_when_making_way,
    believe_the_high_watermark_before_truncating,
)
