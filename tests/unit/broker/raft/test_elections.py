"""Who gets a vote, and what a candidate makes of the answers."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.raft.effects import AskVote, Effect, Persist, Reply
from broker.raft.events import (
    FetchAnswer,
    FetchAnswered,
    QuorumState,
    TimePassed,
    VoteAnswer,
    VoteAnswered,
    VoteRequested,
)
from broker.raft.machine import Raft
from broker.raft.roles import Role
from tests.unit.broker.raft.builders import answer_in, follower_of, leader_of, log_of, member
from tests.unit.broker.raft.memory_log import MemoryLog


def ask(
    raft: Raft,
    epoch: int,
    *,
    candidate_id: int = 2,
    last: tuple[int, int] = (9, 9),
    is_pre_vote: bool = False,
    now: float = 0.0,
) -> list[Effect]:
    return raft.step(VoteRequested(7, candidate_id, epoch, *last, is_pre_vote), now)


def granted(effects: list[Effect]) -> bool:
    answer = answer_in(effects)
    assert isinstance(answer, VoteAnswer)
    return answer.granted


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ((2, 3), True),
        ((2, 4), True),
        ((3, 1), True),
        ((2, 2), False),
        ((1, 9), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_pre_vote", [True, False])
def test_a_vote_goes_to_a_log_that_is_no_worse(
    last: tuple[int, int], expected: bool, is_pre_vote: bool
) -> None:
    raft = member(log=log_of(1, 2, 2))
    assert granted(ask(raft, 3, last=last, is_pre_vote=is_pre_vote)) is expected


def test_the_vote_is_on_disk_before_it_is_said() -> None:
    effects = ask(member(), 1)
    assert effects[0] == Persist(QuorumState(1, voted_for=2))
    assert effects[-1] == Reply(7, VoteAnswer(1, None, granted=True))


def test_the_epoch_of_a_candidate_is_taken_though_its_log_is_refused() -> None:
    raft = member(log=log_of(1, 1))
    effects = ask(raft, 4, last=(1, 1))
    assert not granted(effects)
    assert effects[0] == Persist(QuorumState(4))


def test_a_pre_vote_changes_nothing_here() -> None:
    raft = member()
    effects = ask(raft, 6, is_pre_vote=True)
    assert effects == [Reply(7, VoteAnswer(0, None, granted=True))]
    assert (raft.epoch, raft.voted_for) == (0, None)


def test_who_voted_may_still_be_asked_about_the_next_epoch() -> None:
    raft = member(state=QuorumState(1, voted_for=3))
    assert granted(ask(raft, 1, is_pre_vote=True))
    assert not granted(ask(raft, 1))


def test_a_leader_promises_no_vote_and_gives_way_to_a_later_epoch() -> None:
    raft = leader_of(log_of(1))
    assert not granted(ask(raft, raft.epoch, is_pre_vote=True, now=10.0))
    assert granted(ask(raft, raft.epoch + 1, now=10.0))
    assert raft.role is Role.UNATTACHED


def test_a_follower_promises_its_vote_once_it_has_not_heard_for_a_fetch_timeout() -> None:
    raft = follower_of(3, MemoryLog(), now=10.0)
    position = raft.fetch_position
    assert position is not None
    raft.step(FetchAnswered(position, FetchAnswer(5, 3, high_watermark=0), has_records=False), 11.0)
    assert not granted(ask(raft, 5, is_pre_vote=True, now=12.9))
    assert granted(ask(raft, 5, is_pre_vote=True, now=13.0))


def test_strangers_get_no_vote_and_raise_no_epoch() -> None:
    raft = member()
    answer = answer_in(ask(raft, 9, candidate_id=4))
    assert answer == VoteAnswer(0, None, granted=False, error=ErrorCode.INCONSISTENT_VOTER_SET)
    assert answer_in(ask(raft, 9, candidate_id=1)).error is ErrorCode.INCONSISTENT_VOTER_SET
    assert raft.epoch == 0


def test_an_observer_has_no_vote() -> None:
    raft = member(4)
    assert answer_in(ask(raft, 1)).error is ErrorCode.INCONSISTENT_VOTER_SET
    raft.step(TimePassed(), 1000.0)
    assert raft.role is Role.UNATTACHED


def test_votes_of_an_earlier_candidacy_do_not_count() -> None:
    raft = member(voters=(1, 2, 3, 4, 5), state=QuorumState(1, voted_for=2))
    raft.step(TimePassed(), 10.0)
    for voter in (2, 3):
        raft.step(VoteAnswered(voter, 1, True, VoteAnswer(1, None, granted=True)), 10.0)
    assert (raft.role, raft.epoch) == (Role.CANDIDATE, 2)
    for voter in (2, 3):
        raft.step(VoteAnswered(voter, 1, False, VoteAnswer(1, None, granted=True)), 10.0)
        raft.step(VoteAnswered(voter, 2, True, VoteAnswer(2, None, granted=True)), 10.0)
    assert raft.role is Role.CANDIDATE


def test_one_voter_counts_once_however_often_it_answers() -> None:
    raft = member(voters=(1, 2, 3, 4, 5))
    raft.step(TimePassed(), 10.0)
    for _ in range(3):
        raft.step(VoteAnswered(2, 0, True, VoteAnswer(0, None, granted=True)), 10.0)
    assert raft.role is Role.PROSPECTIVE


def test_a_stranger_cannot_vote() -> None:
    raft = member()
    raft.step(TimePassed(), 10.0)
    raft.step(VoteAnswered(4, 0, True, VoteAnswer(0, None, granted=True)), 10.0)
    assert raft.role is Role.PROSPECTIVE


def test_a_candidate_that_hears_of_the_leader_follows_it() -> None:
    raft = member()
    raft.step(TimePassed(), 10.0)
    raft.step(VoteAnswered(2, 0, True, VoteAnswer(4, 3, granted=False)), 10.0)
    assert (raft.role, raft.epoch, raft.leader_id) == (Role.FOLLOWER, 4, 3)


def test_a_majority_of_refusals_ends_the_candidacy_before_its_time() -> None:
    raft = member()
    raft.step(TimePassed(), 10.0)
    roles = []
    for voter in (2, 3):
        raft.step(VoteAnswered(voter, 0, True, VoteAnswer(0, None, granted=False)), 10.0)
        roles.append(raft.role)
    assert roles == [Role.PROSPECTIVE, Role.UNATTACHED]


def test_the_wait_after_a_lost_election_grows_up_to_its_maximum() -> None:
    raft = member()
    no = VoteAnswer(0, None, granted=False)
    waits = []
    now = 10.0
    for _ in range(6):
        raft.step(TimePassed(), now)
        for voter in (2, 3):
            raft.step(VoteAnswered(voter, 0, True, no), now)
        waits.append(raft.wake_at - now)
        now = raft.wake_at
    assert waits == pytest.approx([0.125, 0.25, 0.5, 0.5, 0.5, 0.5])


def test_a_candidate_says_where_its_log_ends() -> None:
    raft = member(log=log_of(1, 3))
    assert raft.step(TimePassed(), 10.0)[1:] == [
        AskVote(2, 3, last_epoch=3, last_offset=2, is_pre_vote=True),
        AskVote(3, 3, last_epoch=3, last_offset=2, is_pre_vote=True),
    ]
