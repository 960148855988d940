"""W-OWN: a partition has one owner in a consumer group, and the table of owners knows it."""

import pytest

from broker.groups.consumer.partitions import NO_PARTITIONS
from broker.protocol.errors import ErrorCode
from harness.sim.invariants.one_owner import OneOwner
from tests.property import consumer_group_mutants as mutants
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks
from tests.unit.harness.sim.invariants.members_by_hand import MembersByHand, members_by_hand


def _give_a_partition_back(members: MembersByHand) -> None:
    """G03: b leaves while a is giving up a partition for it, so the partition stays with a."""
    assert members.join("a") == ErrorCode.NONE
    assert members.join("b") == ErrorCode.NONE
    members.beat("a")
    members.leave("b")
    members.beat("a", owns=[0, 1])
    members.beat("a", owns=[0])


def test_a_partition_that_comes_back_is_still_owned() -> None:
    rule = OneOwner()
    with members_by_hand(rule) as members:
        _give_a_partition_back(members)
        assert len(members.group.seen().holders) == 2
        looks = rule.looks
        assert looks > 5
        members.look()
        assert rule.looks == looks + 1


def test_an_owner_that_the_table_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """KAFKA-16147 is found before a second member comes."""
    mutants.forget_who_holds_a_partition_that_comes_back(monkeypatch)
    rule = OneOwner()
    with (
        members_by_hand(rule) as members,
        breaks(rule, "is held by a, and the table of owners names nobody"),
    ):
        _give_a_partition_back(members)


def test_two_owners_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mutants.assign_what_others_hold(monkeypatch)
    rule = OneOwner()
    with members_by_hand(rule) as members:
        members.join("a")
        with breaks(rule, "is held by a and by b"):
            members.join("b")


def test_a_stable_group_off_its_target_is_found() -> None:
    rule = OneOwner()
    with members_by_hand(rule) as members:
        members.join("a")
        state = members.group.state
        target = state.targets["a"]
        state.targets["a"] = NO_PARTITIONS
        with breaks(rule, "it is stable, and a holds partition 0"):
            members.look()
        [topic_id] = target
        state.targets["a"] = {topic_id: frozenset({0, 1, 2})}
        with breaks(rule, "it is stable, and a lacks partition 2"):
            members.look()
        state.targets["a"] = {**target, bytes(15) + b"x": frozenset({0})}
        members.look()  # of a topic that does not exist any more


def test_a_member_ahead_of_its_group_is_found() -> None:
    rule = OneOwner()
    with members_by_hand(rule) as members:
        members.join("a")
        members.group.state.epoch -= 1
        with breaks(rule, "a is in epoch 2, the group in 1"):
            members.look()
