"""How a member starts, keeps time, and enters and leaves epochs."""

from __future__ import annotations

from math import inf

import pytest

from broker.protocol.errors import ErrorCode
from broker.raft.effects import AnnounceLeader, AskVote, Persist, RoleChanged
from broker.raft.errors import UnfitStateError
from broker.raft.events import (
    BeginEpochAnswered,
    BeginEpochRequested,
    EndEpochAnswered,
    EndEpochRequested,
    EpochAnswer,
    QuorumState,
    Resign,
    SnapshotId,
    TimePassed,
)
from broker.raft.roles import Role
from tests.unit.broker.raft.builders import answer_in, follower_of, leader_of, log_of, member
from tests.unit.broker.raft.memory_log import MemoryLog, Record


@pytest.mark.parametrize(
    ("leader_id", "role", "spoken"),
    [(None, Role.UNATTACHED, None), (2, Role.FOLLOWER, 2), (1, Role.RESIGNED, None)],
)
def test_a_member_comes_back_as_what_its_disk_says(
    leader_id: int | None, role: Role, spoken: int | None
) -> None:
    raft = member(state=QuorumState(4, voted_for=1, leader_id=leader_id))
    assert (raft.role, raft.epoch, raft.voted_for, raft.leader_id) == (role, 4, 1, spoken)


def test_the_high_watermark_starts_behind_the_snapshot() -> None:
    log = log_of(1, 1, 1)
    log.take_snapshot(2)
    assert member(log=log).high_watermark == 2


def test_a_quorum_state_that_is_behind_the_log_is_refused() -> None:
    with pytest.raises(UnfitStateError, match="votes given since then are forgotten"):
        member(state=QuorumState(2), log=log_of(3))


def test_a_log_that_is_not_flushed_is_refused() -> None:
    log = log_of(1)
    log.append([Record(1, "r")])
    with pytest.raises(UnfitStateError, match="flushed up to 1 only"):
        member(log=log)


def test_a_log_without_its_beginning_is_refused() -> None:
    log = log_of(1, 1)
    log.take_snapshot(1)
    log.snapshot_id = None
    with pytest.raises(UnfitStateError, match="no snapshot tells"):
        member(log=log)


def test_a_snapshot_outside_its_log_is_refused() -> None:
    log = log_of(1, 1)
    log.snapshot_id = SnapshotId(3, 1)
    with pytest.raises(UnfitStateError, match="outside the log from 0 to 2"):
        member(log=log)


def test_nothing_happens_before_its_time() -> None:
    raft = member(draw=lambda: 0.5)
    assert raft.wake_at == 1.5
    assert raft.step(TimePassed(), 1.4) == []
    assert raft.step(TimePassed(), 1.5)[0] == RoleChanged(Role.PROSPECTIVE, 0, None)


def test_followers_do_not_lose_their_patience_all_at_once() -> None:
    draws = iter([0.0, 0.8])
    raft = member(state=QuorumState(1, None, 2), draw=lambda: next(draws))
    assert raft.wake_at == 2.0
    raft.step(BeginEpochRequested(0, 2, 3), 10.0)
    assert raft.wake_at == pytest.approx(12.4)


def test_a_leader_reminds_those_who_are_silent() -> None:
    raft = leader_of(MemoryLog(), now=10.0)
    assert raft.wake_at == 11.0
    assert raft.step(TimePassed(), 11.0) == [AnnounceLeader(2, 1), AnnounceLeader(3, 1)]
    assert raft.wake_at == 12.0


@pytest.mark.parametrize("answered", [BeginEpochAnswered, EndEpochAnswered])
def test_a_leader_that_hears_of_a_later_epoch_steps_down(
    answered: type[BeginEpochAnswered] | type[EndEpochAnswered],
) -> None:
    raft = leader_of(MemoryLog())
    refusal = EpochAnswer(9, None, ErrorCode.FENCED_LEADER_EPOCH)
    assert raft.step(answered(9, refusal), 11.0) == []
    assert raft.step(answered(2, refusal), 11.0) == [
        Persist(QuorumState(9)),
        RoleChanged(Role.UNATTACHED, 9, None),
    ]


def test_an_announcement_does_not_prolong_a_followers_patience() -> None:
    raft = follower_of(3, MemoryLog(), epoch=5, now=10.0)
    assert answer_in(raft.step(BeginEpochRequested(0, 5, 3), 11.9)) == EpochAnswer(5, 3)
    assert raft.wake_at == 12.0


def test_the_second_in_the_line_waits_and_promises_its_vote() -> None:
    raft = follower_of(3, MemoryLog(), epoch=5, now=10.0)
    raft.step(EndEpochRequested(0, 5, 3, (2, 1)), 10.5)
    assert (raft.role, raft.wake_at) == (Role.FOLLOWER, 11.5)


def test_the_first_in_the_line_stands_in_a_new_epoch_at_once() -> None:
    raft = follower_of(3, MemoryLog(), epoch=5, now=10.0)
    effects = raft.step(EndEpochRequested(0, 5, 3, (1, 2)), 10.5)
    assert effects[0] == Persist(QuorumState(6, voted_for=1))
    assert AskVote(2, 6, 0, 0, is_pre_vote=False) in effects
    late = raft.step(EndEpochRequested(0, 5, 3, (1, 2)), 10.5)
    assert answer_in(late).error is ErrorCode.FENCED_LEADER_EPOCH


def test_an_observer_looks_around_when_its_leader_ends() -> None:
    raft = member(9, state=QuorumState(5, None, 3))
    raft.step(EndEpochRequested(0, 5, 3, (1, 2)), 0.5)
    assert raft.role is Role.UNATTACHED


def test_who_stops_stands_no_more() -> None:
    raft = follower_of(3, MemoryLog())
    raft.step(Resign(), 10.0)
    assert raft.wake_at == inf
    raft.step(EndEpochRequested(0, 5, 3, (1, 2)), 10.5)
    assert raft.role is Role.FOLLOWER
    candidate = member()
    candidate.step(TimePassed(), 10.0)
    candidate.step(Resign(), 10.0)
    assert (candidate.role, candidate.wake_at) == (Role.UNATTACHED, inf)
