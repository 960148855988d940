"""Members that are silent, or too slow to give up partitions, are thrown out."""

from __future__ import annotations

from dataclasses import replace

from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import SETTINGS, Desk

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_gone_after_its_session() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t")
    desk.join("m2", "t")
    desk.wait(40)
    desk.beat("m2", 3)
    desk.wait(6)
    assert list(desk.group.state.members) == ["m2"]
    assert desk.beat("m1", 2).error_code == UNKNOWN
    response = desk.beat("m2", 3)
    assert (response.member_epoch, desk.assigned(response)) == (4, {"t": [0, 1]})


def test_heartbeats_keep_a_session_alive() -> None:
    desk = Desk(t=1)
    desk.join("m", "t")
    for _ in range(5):
        desk.wait(44)
        assert desk.beat("m", 2).error_code == ErrorCode.NONE


def test_a_member_that_does_not_give_up_its_partitions_in_time_is_fenced() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", rebalance_timeout_ms=20_000)
    desk.join("m2", "t")
    desk.beat("m1", 2)
    for _ in range(3):
        desk.wait(5)
        assert desk.beat("m1", 2, owned={"t": [0, 1]}).error_code == ErrorCode.NONE
        assert desk.beat("m2", 3).error_code == ErrorCode.NONE
    desk.wait(6)
    assert list(desk.group.state.members) == ["m2"]
    assert desk.assigned(desk.beat("m2", 3)) == {"t": [0, 1]}


def test_a_member_that_gave_up_its_partitions_is_not_fenced() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", rebalance_timeout_ms=20_000)
    desk.join("m2", "t")
    desk.beat("m1", 2)
    desk.beat("m1", 2, owned={"t": [0]})
    desk.wait(30)
    assert list(desk.group.state.members) == ["m1", "m2"]


def test_a_rebalance_timeout_outlives_a_failover() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", rebalance_timeout_ms=20_000)
    desk.join("m2", "t")
    desk.beat("m1", 2)
    desk.fail_over()
    desk.wait(19)
    desk.beat("m1", 2)
    desk.wait(2)
    assert list(desk.group.state.members) == ["m2"]


def test_sessions_begin_anew_after_a_failover() -> None:
    desk = Desk(t=1)
    desk.join("m", "t")
    desk.wait(40)
    desk.fail_over()
    desk.wait(40)
    assert list(desk.group.state.members) == ["m"]
    desk.wait(6)
    assert list(desk.group.state.members) == []


def test_a_member_that_cannot_be_removed_now_is_removed_later() -> None:
    desk = Desk(t=1)
    desk.join("m", "t")
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.wait(60)
    assert list(desk.group.state.members) == ["m"]
    desk.refuses = ErrorCode.NONE
    desk.wait(2)
    assert list(desk.group.state.members) == []


def test_a_rebalance_that_was_never_written_fences_nobody() -> None:
    desk = Desk(t=2)
    desk.join("m1", "t", rebalance_timeout_ms=20_000)
    desk.join("m2", "t")
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.beat("m1", 2)
    desk.refuses = ErrorCode.NONE
    desk.beat("m2", -1)
    assert desk.beat("m1", 2).member_epoch == 4
    desk.wait(21)
    assert list(desk.group.state.members) == ["m1"]


def test_assignments_are_not_computed_more_often_than_the_interval() -> None:
    desk = Desk(replace(SETTINGS, group_consumer_assignment_interval_ms=1000), t=4)
    desk.join("m1", "t")
    response = desk.join("m2", "t")
    assert (response.member_epoch, desk.group.state_name) == (2, "Assigning")
    assert desk.group.state.targets.keys() == {"m1"}
    desk.wait(0.5)
    assert desk.join("m3", "t").member_epoch == 2
    assert desk.beat("m1", 2).assignment is None
    desk.wait(0.5)
    assert desk.assigned(desk.beat("m1", 2)) == {"t": [0, 1]}
    assert desk.group.state_name == "Reconciling"
    assert desk.group.state.targets.keys() == {"m1", "m2", "m3"}
    assert (desk.group.state.epoch, desk.group.state.assignment_epoch) == (4, 4)


def test_a_clock_that_was_set_back_does_not_stop_assignments() -> None:
    desk = Desk(replace(SETTINGS, group_consumer_assignment_interval_ms=1000), t=4)
    desk.join("m1", "t")
    desk.now = desk.now._replace(wall_ms=desk.now.wall_ms - 3_600_000)
    assert desk.join("m2", "t").member_epoch == 3
