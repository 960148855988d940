"""The in-sync set: proposed by the leader, decided by the controller, in the order of epochs."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.replication.in_sync import IsrMember, IsrProposal
from broker.replication.leader import Progress
from tests.unit.broker.replication.builders import LAG_S, Leading, broker, brokers, partition


def joining() -> tuple[Leading, IsrProposal]:
    """Node 2 has just caught up with a leader that has four records."""
    leading = Leading(partition((0, 1)), count=2)
    leading.append(2)
    leading.progress(1, 4)
    proposal = leading.progress(2, 4).proposal
    assert proposal is not None
    return leading, proposal


def lagging() -> tuple[Leading, IsrProposal]:
    """Node 2 has been silent for too long; node 1 is level."""
    leading = Leading()
    leading.append()
    leading.now += LAG_S + 1
    leading.progress(1, 1)
    proposal = leading.state.check_lag(leading.now).proposal
    assert proposal is not None
    return leading, proposal


def maximal(leading: Leading) -> tuple[int, ...]:
    return leading.state.maximal_isr


def in_flight(leading: Leading) -> IsrProposal | None:
    return leading.state.in_flight


def test_a_proposal_names_the_lives_it_rests_on() -> None:
    _, proposal = joining()
    assert proposal == IsrProposal(5, 10, (IsrMember(0, 1), IsrMember(1, 1), IsrMember(2, 1)))


@pytest.mark.parametrize(
    ("offset", "known"),
    [
        (1, brokers()),  # it lacks what was there when the epoch began
        (3, brokers()),  # it is behind the high watermark
        (4, brokers(broker(2, fenced=True))),
        (4, brokers(broker(2, in_controlled_shutdown=True))),
        (4, brokers(broker(2, epoch=0))),  # a life that the metadata does not know yet
        (4, {}),
    ],
)
def test_not_everyone_may_join(offset: int, known: dict[int, object]) -> None:
    leading = Leading(partition((0, 1)), count=2, known=known)  # type: ignore[arg-type]
    leading.append(2)
    leading.fetch(1, 4)
    assert leading.state.high_watermark == 4
    assert leading.progress(2, offset).proposal is None


def test_the_start_of_the_epoch_counts_more_than_a_low_high_watermark() -> None:
    leading = Leading(partition((0, 1)), count=2, high_watermark=0)
    assert leading.progress(2, 1).proposal is None
    assert leading.progress(2, 2).proposal is not None


def test_one_proposal_at_a_time() -> None:
    leading, proposal = joining()
    leading.now += LAG_S + 1
    leading.append()
    assert leading.state.check_lag(leading.now).proposal is None
    assert leading.progress(2, 5).proposal is None
    assert in_flight(leading) == proposal


def test_an_addition_counts_at_once_and_a_removal_only_when_it_is_done() -> None:
    leading, proposal = joining()
    assert maximal(leading) == (0, 1, 2)
    assert leading.state.isr == (0, 1)
    leading, proposal = lagging()
    assert maximal(leading) == (0, 1, 2)
    assert leading.state.high_watermark == 0
    info = partition((0, 1), partition_epoch=11)
    leading.state.proposal_accepted(proposal, info, leading.now)
    # The metadata has yet to say whether node 2 may still be elected.
    assert maximal(leading) == (0, 1, 2)
    assert leading.state.metadata_changed(info, leading.now).high_watermark_moved
    assert maximal(leading) == (0, 1)


def test_a_member_is_level_by_its_last_fetch_or_by_the_one_before() -> None:
    leading = Leading(partition((0, 1)))
    leading.append()
    for _ in range(5):
        # Always one record behind, and never out of date.
        leading.now += LAG_S - 1
        end = leading.log.end_offset
        leading.append()
        leading.progress(1, end)
        assert leading.state.check_lag(leading.now) == Progress()


def test_an_idle_member_is_not_removed_for_silence() -> None:
    leading = Leading(partition((0, 1)))
    leading.append()
    leading.progress(1, 1)
    leading.now += 100 * LAG_S
    assert leading.state.check_lag(leading.now).proposal is None
    leading.append()
    assert leading.state.check_lag(leading.now).proposal is not None


def test_a_new_member_has_the_whole_lag_time_to_draw_level() -> None:
    leading = Leading(partition((0, 1)))
    leading.append(5)
    leading.progress(1, 2)
    proposal = leading.progress(2, 2).proposal
    assert proposal is not None
    info = partition((0, 1, 2), partition_epoch=11)
    leading.now += LAG_S
    leading.progress(1, 5)
    leading.state.proposal_accepted(proposal, info, leading.now)
    assert leading.state.check_lag(leading.now).proposal is None


def test_what_is_older_than_the_known_epoch_changes_nothing() -> None:
    leading, proposal = lagging()
    newer = partition((0, 2), partition_epoch=12)
    leading.state.metadata_changed(newer, leading.now)
    older = partition((0, 1), partition_epoch=11)
    assert leading.state.proposal_accepted(proposal, older, leading.now) == Progress()
    assert leading.state.metadata_changed(older, leading.now) == Progress()
    assert leading.state.isr == (0, 2)


def test_the_metadata_completes_what_an_answer_told() -> None:
    leading = Leading(min_isr=2)
    leading.append()
    leading.now += LAG_S + 1
    proposal = leading.state.check_lag(leading.now).proposal
    assert proposal is not None
    info = partition((0,), partition_epoch=11)
    leading.state.proposal_accepted(proposal, info, leading.now)
    assert maximal(leading) == (0, 1, 2)
    leading.state.metadata_changed(partition((0,), partition_epoch=11, elr=(1,)), leading.now)
    assert maximal(leading) == (0, 1)
    joined = leading.progress(1, 1).proposal
    assert joined is not None
    leading.state.metadata_changed(partition((0,), partition_epoch=11, elr=(2,)), leading.now)
    assert in_flight(leading) == joined
    assert maximal(leading) == (0, 2, 1)
    both = partition((0, 1), partition_epoch=12, elr=(2,))
    leading.state.proposal_accepted(joined, both, leading.now)
    assert maximal(leading) == (0, 1, 2)


def test_another_leader_epoch_is_not_for_this_leadership() -> None:
    leading = Leading()
    later = partition((0, 1), leader_epoch=6, partition_epoch=11)
    assert leading.state.metadata_changed(later, leading.now) == Progress()
    assert leading.state.partition_epoch == 10


def test_the_metadata_may_bring_the_outcome_before_the_answer() -> None:
    leading, proposal = joining()
    info = partition((0, 1, 2), partition_epoch=11)
    leading.state.metadata_changed(info, leading.now)
    assert in_flight(leading) is None
    assert leading.state.proposal_accepted(proposal, info, leading.now) == Progress()
    leading.append()
    leading.now += LAG_S + 1
    second = leading.state.check_lag(leading.now).proposal
    assert second is not None
    # The answer to the first proposal, however late, does not settle the second.
    leading.state.proposal_refused(proposal, ErrorCode.INVALID_UPDATE_VERSION)
    leading.state.proposal_accepted(proposal, info, leading.now)
    assert in_flight(leading) == second


@pytest.mark.parametrize(
    "error",
    [ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR],
)
def test_an_unknown_outcome_is_asked_for_again(error: ErrorCode) -> None:
    leading, proposal = joining()
    assert leading.state.proposal_refused(proposal, error) == Progress(proposal=proposal)
    assert maximal(leading) == (0, 1, 2)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_what_the_metadata_will_tell_is_waited_for(error: ErrorCode) -> None:
    leading, proposal = joining()
    assert leading.state.proposal_refused(proposal, error) == Progress()
    assert maximal(leading) == (0, 1, 2)
    assert in_flight(leading) == proposal
    info = partition((0, 1), partition_epoch=11)
    leading.state.metadata_changed(info, leading.now)
    assert in_flight(leading) is None
    assert maximal(leading) == (0, 1)


def test_a_refused_removal_is_over() -> None:
    leading, proposal = lagging()
    assert leading.state.proposal_refused(proposal, ErrorCode.INELIGIBLE_REPLICA) == Progress()
    assert in_flight(leading) is None


@pytest.mark.parametrize("moves_the_epoch", [True, False])
def test_a_refused_addition_counts_until_the_set_is_confirmed(moves_the_epoch: bool) -> None:
    leading, proposal = joining()
    confirming = leading.state.proposal_refused(proposal, ErrorCode.INELIGIBLE_REPLICA).proposal
    assert confirming == IsrProposal(5, 10, (IsrMember(0, 1), IsrMember(1, 1)))
    assert maximal(leading) == (0, 1, 2)
    # A copy of the first answer says nothing about the second proposal.
    leading.state.proposal_refused(proposal, ErrorCode.INELIGIBLE_REPLICA)
    assert in_flight(leading) == confirming
    info = partition((0, 1), partition_epoch=11 if moves_the_epoch else 10)
    leading.state.proposal_accepted(confirming, info, leading.now)
    assert in_flight(leading) is None
    assert maximal(leading) == (0, 1)
