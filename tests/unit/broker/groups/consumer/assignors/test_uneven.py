"""The assignor `uniform` when members have different subscriptions."""

from __future__ import annotations

import random

from broker.groups.consumer.assignors.spec import Assignment, GroupSpec
from broker.groups.consumer.assignors.uniform import assign_uniformly
from tests.unit.broker.groups.consumer.assignors.specs import check, group, moved, plain, sizes


def is_balanced(spec: GroupSpec, assignment: Assignment) -> bool:
    """No chain of moves leads from a member to one with at least two partitions fewer."""
    count = sizes(assignment)
    return all(
        count[member_id] - count[other] < 2
        for member_id in assignment
        for other in _reached_from(member_id, spec, assignment)
    )


def _reached_from(member_id: str, spec: GroupSpec, assignment: Assignment) -> set[str]:
    reached, pending = {member_id}, [member_id]
    while pending:
        topics = assignment[pending.pop()].keys()
        for other, member in spec.members.items():
            if other not in reached and not topics.isdisjoint(member.topics):
                reached.add(other)
                pending.append(other)
    return reached


def test_members_only_get_what_they_are_subscribed_to() -> None:
    spec = group({"a": 2, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b"})
    assignment = assign_uniformly(spec)
    check(spec, assignment)
    assert sorted(sizes(assignment).values()) == [1, 1, 2]


def test_a_topic_with_one_subscriber_leaves_others_to_the_rest() -> None:
    spec = group({"a": 4, "b": 4}, {"m1": "ab", "m2": "b"})
    assert plain(assign_uniformly(spec)) == {"m1": "a0 a1 a2 a3", "m2": "b0 b1 b2 b3"}


def test_a_balance_that_needs_a_chain_of_moves() -> None:
    """m1 can only relieve itself through b, which m2 passes on through c."""
    subscriptions = {"m1": "ab", "m2": "bc", "m3": "c"}
    spec = group(
        {"a": 3, "b": 3, "c": 3},
        subscriptions,
        assign_uniformly(group({"a": 3, "b": 3, "c": 3}, {"m1": "ab", "m2": "c"})),
    )
    assignment = assign_uniformly(spec)
    check(spec, assignment)
    assert sizes(assignment) == {"m1": 3, "m2": 3, "m3": 3}


def test_what_is_balanced_stays() -> None:
    subscriptions = {"m1": "ab", "m2": "bc", "m3": "c"}
    counts = {"a": 3, "b": 5, "c": 4}
    before = assign_uniformly(group(counts, subscriptions))
    after = assign_uniformly(group(counts, subscriptions, before))
    assert all(after[member_id] is before[member_id] for member_id in before)


def test_random_groups_are_balanced_and_sticky() -> None:
    draw = random.Random(849)
    freed = disturbed = 0
    for _ in range(200):
        counts = {letter: draw.randrange(1, 9) for letter in "abcde"}
        subscriptions = {
            f"m{number}": "".join(draw.sample("abcde", draw.randrange(6)))
            for number in range(draw.randrange(1, 9))
        }
        spec = group(counts, subscriptions)
        before = assign_uniformly(spec)
        check(spec, before)
        assert is_balanced(spec, before)
        gone = draw.choice(list(subscriptions))
        smaller = {each: letters for each, letters in subscriptions.items() if each != gone}
        spec = group(counts, smaller, before)
        after = assign_uniformly(spec)
        check(spec, after)
        assert is_balanced(spec, after)
        freed += sizes(before)[gone]
        disturbed += moved({each: before[each] for each in smaller}, after)
    # The partitions of members that left find new owners; hardly any other has to move for that.
    assert disturbed < freed / 4
