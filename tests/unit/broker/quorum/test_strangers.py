"""A node finds out that it is in the wrong cluster, and does not leave the right one."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.quorum.strangers import Strangers, WrongClusterError, WrongVotersError

WRONG = ErrorCode.INCONSISTENT_CLUSTER_ID
NO_VOTER = ErrorCode.INCONSISTENT_VOTER_SET


def test_most_of_the_voters_make_a_node_a_stranger() -> None:
    strangers = Strangers("ours", 3)
    strangers.answered(2, WRONG)
    strangers.answered(2, WRONG)
    with pytest.raises(WrongClusterError) as refused:
        strangers.answered(3, WRONG)
    assert str(refused.value).startswith(
        "this node is of cluster ours, but the controllers (2, 3) are of another; compare"
    )


def test_the_only_controller_of_a_broker_is_enough() -> None:
    with pytest.raises(WrongClusterError):
        Strangers("ours", 1).answered(1, WRONG)


def test_a_node_that_was_known_once_is_not_turned_away() -> None:
    strangers = Strangers("ours", 3)
    strangers.answered(2, ErrorCode.NONE)
    for voter in (2, 3):
        strangers.answered(voter, WRONG)


def test_an_answer_of_another_kind_says_nothing_about_the_cluster() -> None:
    strangers = Strangers("ours", 3)
    strangers.answered(2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    strangers.answered(2, WRONG)
    with pytest.raises(WrongClusterError):
        strangers.answered(3, WRONG)


def test_a_stranger_that_was_put_right_does_not_count() -> None:
    strangers = Strangers("ours", 3)
    strangers.answered(2, WRONG)
    strangers.answered(2, ErrorCode.INVALID_VOTER_KEY)
    strangers.answered(3, WRONG)


def test_each_stranger_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    strangers = Strangers("ours", 5)
    for voter in (2, 3, 2, 3, 2):
        strangers.answered(voter, WRONG)
    told = [each.getMessage() for each in caplog.records]
    assert told == [
        "node 2 is of another cluster than ours",
        "node 3 is of another cluster than ours",
    ]


def test_a_candidate_that_most_voters_do_not_know_has_another_list_of_voters() -> None:
    strangers = Strangers("ours", 3)
    strangers.voted(2, NO_VOTER)
    strangers.voted(2, NO_VOTER)
    with pytest.raises(WrongVotersError) as refused:
        strangers.voted(3, NO_VOTER)
    assert str(refused.value).startswith("the controllers (2, 3) do not count this node among")


@pytest.mark.parametrize("voter", [2, 4])
def test_a_candidate_that_somebody_knows_is_not_turned_away(voter: int) -> None:
    strangers = Strangers("ours", 5)
    strangers.voted(voter, ErrorCode.NONE)
    for each in (2, 3, 5):
        strangers.voted(each, NO_VOTER)
