"""The steps of one member: give up, confirm, receive what is free."""

from __future__ import annotations

from typing import Any

import pytest

from broker.groups.consumer.member import Member, MemberState
from broker.groups.consumer.partitions import Partitions
from broker.groups.consumer.reconciliation import Goal, reconcile
from broker.protocol.errors import ErrorCode, KafkaError

A, B = b"a" * 16, b"b" * 16
STABLE = MemberState.STABLE
UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS


def held(epoch: int, **topics: list[int]) -> dict[bytes, dict[int, int]]:
    return {name.encode() * 16: dict.fromkeys(numbers, epoch) for name, numbers in topics.items()}


def partitions(**topics: list[int]) -> Partitions:
    return {name.encode() * 16: frozenset(numbers) for name, numbers in topics.items()}


def goal(
    epoch: int,
    target: Partitions,
    others: Partitions | None = None,
    subscribed: tuple[bytes, ...] = (A, B),
) -> Goal:
    taken = others or {}
    return Goal(
        epoch,
        target,
        lambda topic_id: topic_id in subscribed,
        lambda topic_id, number: number in taken.get(topic_id, ()),
    )


def member(epoch: int, state: MemberState = STABLE, **fields: Any) -> Member:
    return Member("m", epoch=epoch, previous_epoch=epoch - 1, state=state, **fields)


def step(before: Member, to: Goal, owned: Partitions | None = None, **more: bool) -> Member:
    return reconcile(
        before, to, owned, subscription_changed=more.get("subscription_changed", False)
    )


def test_a_member_at_its_target_stays_as_it_is() -> None:
    before = member(5, assigned=held(5, a=[0]))
    assert step(before, goal(5, partitions(a=[0]))) is before


def test_free_partitions_are_received_with_the_epoch_of_the_target() -> None:
    after = step(member(5, assigned=held(3, a=[0])), goal(6, partitions(a=[0, 1])))
    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 6, 5)
    assert after.assigned == {A: {0: 3, 1: 6}}


def test_what_has_to_go_is_confirmed_before_the_epoch_moves() -> None:
    before = member(5, assigned=held(5, a=[0, 1]))
    to = goal(6, partitions(a=[0, 2]))
    revoking = step(before, to)
    assert (revoking.state, revoking.epoch, revoking.previous_epoch) == (UNREVOKED, 5, 5)
    assert (revoking.assigned, revoking.revoking) == (held(5, a=[0]), held(5, a=[1]))
    assert step(revoking, to, None) is revoking
    assert step(revoking, to, partitions(a=[0, 1])) is revoking
    done = step(revoking, to, partitions(a=[0]))
    assert (done.state, done.epoch, done.revoking) == (STABLE, 6, {})
    assert done.assigned == {A: {0: 5, 2: 6}}


def test_a_member_that_already_gave_up_what_must_go_need_not_confirm() -> None:
    before = member(5, assigned=held(5, a=[0, 1]))
    after = step(before, goal(6, partitions(a=[0])), partitions(a=[0]))
    assert (after.state, after.epoch, after.assigned) == (STABLE, 6, held(5, a=[0]))


def test_partitions_that_others_hold_are_waited_for() -> None:
    to = goal(6, partitions(a=[0, 1]), others=partitions(a=[1]))
    waiting = step(member(5), to)
    assert (waiting.state, waiting.epoch, waiting.assigned) == (UNRELEASED, 6, held(6, a=[0]))
    assert step(waiting, to).assigned == held(6, a=[0])
    done = step(waiting, goal(6, partitions(a=[0, 1])))
    assert (done.state, done.assigned) == (STABLE, held(6, a=[0, 1]))


def test_a_waiting_member_follows_a_newer_target() -> None:
    waiting = member(6, UNRELEASED, assigned=held(6, a=[0]))
    after = step(waiting, goal(7, partitions(b=[0])))
    assert (after.state, after.epoch) == (UNREVOKED, 6)
    assert (after.assigned, after.revoking) == ({}, held(6, a=[0]))


def test_a_partition_that_comes_back_while_it_is_given_up_is_not_waited_for() -> None:
    """G03: it is held, but by the member itself."""
    revoking = member(5, UNREVOKED, assigned=held(5, a=[0]), revoking=held(5, a=[1]))
    to = goal(7, partitions(a=[0, 1]), others=partitions(a=[1]))
    assert step(revoking, to, partitions(a=[0, 1])) is revoking
    done = step(revoking, to, partitions(a=[0]))
    assert (done.state, done.epoch, done.revoking) == (STABLE, 7, {})
    assert done.assigned == {A: {0: 5, 1: 7}}


def test_one_revocation_can_follow_another() -> None:
    revoking = member(5, UNREVOKED, assigned=held(5, a=[0, 1]), revoking=held(5, a=[2]))
    after = step(revoking, goal(7, partitions(a=[0])), partitions(a=[0, 1]))
    assert (after.state, after.epoch) == (UNREVOKED, 5)
    assert (after.assigned, after.revoking) == (held(5, a=[0]), held(5, a=[1]))


def test_topics_that_the_member_is_not_subscribed_to_count_as_not_assigned() -> None:
    """The target may be older than the subscription."""
    before = member(5, assigned=held(5, a=[0]))
    after = step(before, goal(6, partitions(a=[0], b=[0]), subscribed=(B,)), partitions())
    assert after.assigned == held(6, b=[0])


def test_a_changed_subscription_takes_topics_away_at_once() -> None:
    before = member(5, assigned=held(5, a=[0], b=[1]))
    to = goal(5, partitions(a=[0], b=[1]), subscribed=(B,))
    after = step(before, to, subscription_changed=True)
    assert (after.state, after.epoch) == (UNREVOKED, 5)
    assert (after.assigned, after.revoking) == (held(5, b=[1]), held(5, a=[0]))
    gone = step(before, to, partitions(b=[1]), subscription_changed=True)
    assert (gone.state, gone.assigned, gone.revoking) == (STABLE, held(5, b=[1]), {})
    assert step(before, goal(5, partitions()), subscription_changed=True) is before


def test_a_changed_subscription_adds_to_what_is_being_given_up() -> None:
    revoking = member(5, UNREVOKED, assigned=held(5, a=[0], b=[1]), revoking=held(5, a=[1]))
    to = goal(6, partitions(b=[1]), subscribed=(B,))
    after = step(revoking, to, None, subscription_changed=True)
    assert (after.state, after.assigned) == (UNREVOKED, held(5, b=[1]))
    assert after.revoking == held(5, a=[0, 1])


def test_a_member_in_an_unknown_state_has_to_abandon_everything() -> None:
    before = member(5, MemberState.UNKNOWN, assigned=held(5, a=[0]))
    to = goal(6, partitions(a=[0]))
    for owned in (None, partitions(a=[0])):
        with pytest.raises(KafkaError) as fenced:
            step(before, to, owned)
        assert fenced.value.code == ErrorCode.FENCED_MEMBER_EPOCH
    after = step(before, to, partitions())
    assert (after.state, after.epoch) == (STABLE, 6)
