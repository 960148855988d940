"""Members join, stay and leave by heartbeats. Epochs and errors are those recorded from Kafka."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.groups.consumer.member import MemberState
from broker.groups.group import GroupClient
from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import SETTINGS, Desk

NONE = ErrorCode.NONE
FENCED = ErrorCode.FENCED_MEMBER_EPOCH
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def test_the_first_member_gets_everything_in_epoch_2() -> None:
    desk = Desk(t=2)
    response = desk.join("m", "t")
    assert (response.error_code, response.member_id, response.member_epoch) == (NONE, "m", 2)
    assert response.heartbeat_interval_ms == 5000
    assert desk.assigned(response) == {"t": [0, 1]}
    assert (desk.group.state_name, desk.group.state.epoch) == ("Stable", 2)


def test_a_member_without_topics_is_in_epoch_1() -> None:
    desk = Desk()
    response = desk.join("m")
    assert (response.member_epoch, desk.assigned(response)) == (1, {})


def test_topics_that_do_not_exist_are_waited_for() -> None:
    desk = Desk()
    response = desk.join("m", "later")
    assert (response.member_epoch, desk.assigned(response)) == (2, {})
    desk.put_topic("later", 1)
    response = desk.beat("m", 2)
    assert (response.member_epoch, desk.assigned(response)) == (3, {"later": [0]})


def test_an_assignment_is_sent_when_it_changed_or_everything_was_sent() -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    assert desk.beat("m", 2).assignment is None
    assert desk.beat("m", 2, owned={"t": [0, 1]}).assignment is None
    full = desk.beat(
        "m", 2, owned={"t": [0, 1]}, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"]
    )
    assert desk.assigned(full) == {"t": [0, 1]}


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    desk.beat("m", 2)
    written = len(desk.log)
    desk.beat("m", 2, owned={"t": [0, 1]})
    desk.beat("m", 2)
    assert len(desk.log) == written


@pytest.mark.parametrize("epoch", [1, 3])
def test_another_epoch_is_fenced(epoch: int) -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    assert desk.beat("m", epoch).error_code == FENCED


def test_unknown_members_and_groups_are_refused() -> None:
    desk = Desk(t=2)
    for epoch in (1, -1):
        assert desk.beat("m", epoch).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    desk.join("m", "t")
    for epoch in (1, -1):
        assert desk.beat("other", epoch).error_code == UNKNOWN
        assert desk.beat("m", epoch, instance_id="nobody").error_code == UNKNOWN


def test_the_epoch_before_is_accepted_from_a_member_that_owns_no_more_than_it_may() -> None:
    desk = Desk(t=4)
    desk.join("m1", "t")
    desk.join("m2", "t")
    desk.beat("m1", 2)
    assert desk.beat("m1", 2, owned={"t": [0, 1]}).member_epoch == 3
    # The reply was lost.
    assert desk.beat("m1", 2, owned={"t": [0, 1]}).member_epoch == 3
    assert desk.beat("m1", 2, owned={"t": [0]}).member_epoch == 3
    assert desk.beat("m1", 2, owned={"t": [0, 1, 2]}).error_code == FENCED
    assert desk.beat("m1", 2, owned={"other": [0]}).error_code == FENCED
    assert desk.beat("m1", 2).error_code == FENCED
    assert desk.beat("m1", 1, owned={}).error_code == FENCED


def test_a_member_may_join_again_under_its_id() -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    response = desk.join("m", "t")
    assert (response.member_epoch, desk.assigned(response)) == (2, {"t": [0, 1]})


def test_unsubscribing_takes_partitions_away_before_the_next_epoch() -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    response = desk.beat("m", 2, subscribed_topic_names=[])
    assert (response.member_epoch, desk.assigned(response)) == (2, {})
    assert desk.group.state.members["m"].state is MemberState.UNREVOKED_PARTITIONS
    assert desk.beat("m", 2, owned={}).member_epoch == 3


def test_a_full_group_takes_nobody_else() -> None:
    desk = Desk(replace(SETTINGS, group_consumer_max_size=1), t=2)
    desk.join("m1", "t")
    assert desk.join("m2", "t").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert desk.beat("m1", 2).error_code == NONE
    assert desk.join("m1", "t").error_code == NONE


def test_members_are_remembered_with_what_they_sent_last() -> None:
    desk = Desk(t=2)
    desk.join("m", "t", rack_id="r1", server_assignor="range")
    elsewhere = GroupClient("renamed", "/10.0.0.2")
    desk.beat("m", 2, rebalance_timeout_ms=1000, client=elsewhere)
    member = desk.group.state.members["m"]
    assert (member.rack_id, member.server_assignor) == ("r1", "range")
    assert (member.rebalance_timeout_ms, member.client_id) == (1000, "renamed")
    assert desk.group.state.epoch == 2


def test_most_votes_decide_who_assigns() -> None:
    desk = Desk(a=2, b=2)
    desk.join("m1", "a", "b", server_assignor="range")
    desk.join("m2", "a", "b")
    targets = desk.group.state.targets
    assert targets["m1"] == {desk.topic_id("a"): {0}, desk.topic_id("b"): {0}}
    desk.join("m3", "a", "b", server_assignor="uniform")
    desk.join("m4", "a", "b", server_assignor="uniform")
    assert [len(target) for target in desk.group.state.targets.values()] == [1, 1, 1, 1]


def test_leaving_gives_everything_to_the_others() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t")
    desk.join("m2", "t")
    response = desk.beat("m1", -1)
    assert (response.error_code, response.member_id, response.member_epoch) == (NONE, "m1", -1)
    response = desk.beat("m2", 3)
    assert (response.member_epoch, desk.assigned(response)) == (4, {"t": [0, 1]})
    assert desk.beat("m1", 2).error_code == UNKNOWN
    assert desk.beat("m1", -1).error_code == UNKNOWN


def test_an_empty_group_remains() -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    desk.beat("m", -1)
    state = desk.group.state
    assert (desk.group.state_name, state.epoch, state.assignment_epoch) == ("Empty", 3, 2)
    assert (state.metadata_hash, state.members, state.targets) == (0, {}, {})
    assert desk.join("n", "t").member_epoch == 4


# Static members


def test_an_instance_has_one_member_at_a_time() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", instance_id="i")
    assert desk.join("m2", "t", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert desk.join("m1", "t", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert desk.beat("m1", 2, instance_id="i").error_code == NONE
    assert desk.beat("m1", 2).error_code == NONE


def test_a_static_member_that_comes_back_keeps_its_partitions() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", instance_id="i")
    response = desk.beat("m1", -2, instance_id="i")
    assert (response.error_code, response.member_epoch) == (NONE, -2)
    assert desk.beat("m1", 2, instance_id="i").error_code == FENCED
    response = desk.join("m2", "t", instance_id="i")
    assert (response.member_epoch, desk.assigned(response)) == (2, {"t": [0, 1]})
    assert (desk.group.state.epoch, list(desk.group.state.members)) == (2, ["m2"])
    for epoch in (2, -1, -2):
        answer = desk.beat("m1", epoch, instance_id="i")
        assert answer.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert desk.beat("m2", 2, instance_id="i").error_code == NONE


def test_a_static_member_that_comes_back_may_have_another_subscription() -> None:
    desk = Desk(t=2, u=1)
    desk.join("m1", "t", instance_id="i")
    desk.beat("m1", -2, instance_id="i")
    response = desk.join("m2", "u", instance_id="i")
    assert (response.member_epoch, desk.assigned(response)) == (3, {"u": [0]})
    assert list(desk.group.state.targets) == ["m2"]


def test_partitions_of_a_static_member_that_stays_away_go_to_others() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", instance_id="i")
    desk.join("m2", "t")
    desk.beat("m1", 2)
    desk.beat("m1", 2, owned={"t": [0]})
    desk.beat("m2", 3)
    desk.beat("m1", -2, instance_id="i")
    desk.wait(30)
    assert desk.beat("m2", 3).member_epoch == 3
    desk.wait(16)
    response = desk.beat("m2", 3)
    assert (response.member_epoch, desk.assigned(response)) == (4, {"t": [0, 1]})


def test_a_static_member_leaves_for_good() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", instance_id="i")
    assert desk.beat("m1", -1, instance_id="i").member_epoch == -1
    assert desk.group.state.static_ids == {}
    assert desk.join("m2", "t", instance_id="i").error_code == NONE


# The log refuses


def test_a_heartbeat_that_cannot_be_written_is_refused_and_nothing_happened() -> None:
    desk = Desk(t=2)
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.join("m", "t").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.machine.groups == {}
    desk.refuses = ErrorCode.NONE
    assert desk.join("m", "t").member_epoch == 2


def test_a_member_whose_leave_was_not_written_is_still_watched() -> None:
    desk = Desk(t=2)
    desk.join("m", "t")
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.beat("m", -1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.refuses = ErrorCode.NONE
    assert list(desk.group.state.members) == ["m"]
    desk.wait(46)
    assert desk.group.state_name == "Empty"


def test_a_change_of_topics_is_not_forgotten_when_it_cannot_be_written() -> None:
    desk = Desk(t=1)
    desk.join("m", "t")
    desk.put_topic("t", 2)
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.beat("m", 2).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.refuses = ErrorCode.NONE
    assert desk.assigned(desk.beat("m", 2)) == {"t": [0, 1]}
