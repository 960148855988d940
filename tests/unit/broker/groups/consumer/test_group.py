"""What other parts of the broker may ask of a consumer group."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import GROUP, Desk

NONE = ErrorCode.NONE
STALE = ErrorCode.STALE_MEMBER_EPOCH
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@pytest.fixture
def desk() -> Desk:
    """A group with the members m1, in epoch 3 with t-0, and m2, in epoch 3 with t-1."""
    desk = Desk(t=2, u=1)
    desk.join("m1", "t")
    desk.join("m2", "t")
    desk.beat("m1", 2)
    desk.beat("m1", 2, owned={"t": [0]})
    desk.beat("m2", 3)
    return desk


@pytest.mark.parametrize(
    ("member_id", "epoch", "partition", "code"),
    [
        ("m1", 3, 0, NONE),
        ("m1", 3, 1, NONE),  # whoever knows its epoch may commit anything
        ("m1", 2, 0, NONE),  # it held t-0 in epoch 2 already
        ("m1", 2, 1, STALE),
        ("m1", 1, 0, STALE),
        ("m1", -1, 0, STALE),
        ("m2", 2, 1, STALE),  # it got t-1 in epoch 3
    ],
)
def test_a_commit_of_an_older_epoch_counts_for_partitions_that_the_member_kept(
    desk: Desk, member_id: str, epoch: int, partition: int, code: ErrorCode
) -> None:
    group = desk.group
    assert group.check_commit(member_id, None, epoch, False, 9) == NONE
    assert group.check_commit_to(member_id, epoch, "t", partition) == code


def test_a_commit_of_a_partition_that_is_being_given_up_counts(desk: Desk) -> None:
    desk.join("m3", "t", "u")
    desk.beat("m1", 3, subscribed_topic_names=[])
    assert list(desk.group.state.members["m1"].revoking) == [desk.topic_id("t")]
    assert desk.group.check_commit_to("m1", 2, "t", 0) == NONE


def test_commits_of_others_are_refused(desk: Desk) -> None:
    group = desk.group
    assert group.check_commit("m1", None, 4, False, 9) == STALE
    assert group.check_commit("nobody", None, 3, False, 9) == UNKNOWN
    assert group.check_commit("", None, -1, False, 9) == UNKNOWN
    assert group.check_commit("m1", None, 3, False, 8) == ErrorCode.UNSUPPORTED_VERSION
    assert group.check_commit("m1", None, 3, True, 3) == NONE
    assert group.check_commit("", None, -1, True, 3) == NONE


def test_anybody_may_commit_to_an_empty_group(desk: Desk) -> None:
    desk.beat("m1", -1)
    desk.beat("m2", -1)
    group = desk.group
    assert group.check_commit("", None, -1, False, 8) == NONE
    assert group.check_commit("m1", None, 3, False, 9) == UNKNOWN


def test_offsets_are_read_by_members_that_know_their_epoch(desk: Desk) -> None:
    group = desk.group
    assert group.check_fetch(None, -1) == NONE
    assert group.check_fetch("m1", 3) == NONE
    assert group.check_fetch("m1", 2) == STALE
    assert group.check_fetch("nobody", 3) == UNKNOWN


def test_a_group_with_members_is_not_deleted(desk: Desk) -> None:
    assert desk.group.check_delete() == ErrorCode.NON_EMPTY_GROUP
    desk.beat("m1", -1)
    desk.beat("m2", -1)
    assert desk.group.check_delete() == NONE
    desk.take(desk.machine.delete_group(None, GROUP))  # type: ignore[arg-type]
    assert desk.machine.groups == {}
    assert desk.loaded().groups == {}


def test_subscribed_topics_are_known(desk: Desk) -> None:
    assert (desk.group.is_subscribed_to("t"), desk.group.is_subscribed_to("u")) == (True, False)
    assert desk.group.check_offset_delete() == NONE
    desk.join("m3", subscribed_topic_regex="x.*")
    assert desk.group.is_subscribed_to("u")  # what the expression matches is not known yet
    desk.wait(0)
    assert not desk.group.is_subscribed_to("u")


def test_it_is_no_classic_group(desk: Desk) -> None:
    group = desk.group
    assert (group.kind.value, group.protocol_type, group.described()) == (
        "consumer",
        "consumer",
        None,
    )
    assert group.offsets_expire_from_ms(5) == 5
