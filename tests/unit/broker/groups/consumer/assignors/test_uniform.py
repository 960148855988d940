"""The assignor `uniform` when all members have the same subscription."""

from __future__ import annotations

import random

import pytest

from broker.groups.consumer.assignors.uniform import assign_uniformly
from tests.unit.broker.groups.consumer.assignors.specs import check, group, moved, plain, sizes


def test_partitions_are_dealt_out_evenly() -> None:
    spec = group({"a": 2, "b": 3}, {"m1": "ab", "m2": "ab"})
    assert plain(assign_uniformly(spec)) == {"m1": "a0 a1 b0", "m2": "b1 b2"}


def test_a_new_member_gets_its_share_and_nothing_else_moves() -> None:
    before = assign_uniformly(group({"a": 6}, {"m1": "a", "m2": "a"}))
    after = assign_uniformly(group({"a": 6}, {"m1": "a", "m2": "a", "m3": "a"}, before))
    assert plain(before) == {"m1": "a0 a1 a2", "m2": "a3 a4 a5"}
    assert plain(after) == {"m1": "a0 a1", "m2": "a3 a4", "m3": "a2 a5"}


def test_the_partitions_of_a_member_that_left_are_shared_out() -> None:
    before = assign_uniformly(group({"a": 6}, {"m1": "a", "m2": "a", "m3": "a"}))
    after = assign_uniformly(group({"a": 6}, {"m1": "a", "m3": "a"}, before))
    assert moved({"m1": before["m1"], "m3": before["m3"]}, after) == 0
    assert sizes(after) == {"m1": 3, "m3": 3}


def test_a_target_that_stays_is_the_same_object() -> None:
    before = assign_uniformly(group({"a": 5}, {"m1": "a", "m2": "a"}))
    after = assign_uniformly(group({"a": 5}, {"m1": "a", "m2": "a"}, before))
    assert all(after[member_id] is before[member_id] for member_id in before)


def test_members_beyond_the_partitions_are_idle() -> None:
    assignment = assign_uniformly(group({"a": 1}, {"m1": "a", "m2": "a"}))
    assert plain(assignment) == {"m1": "a0", "m2": ""}


@pytest.mark.parametrize("subscriptions", [{}, {"m1": ""}, {"m1": "", "m2": ""}])
def test_nobody_and_nothing(subscriptions: dict[str, str]) -> None:
    expected = dict.fromkeys(subscriptions, "")
    assert plain(assign_uniformly(group({}, subscriptions))) == expected


def test_partitions_that_are_gone_are_dropped() -> None:
    before = assign_uniformly(group({"a": 4, "b": 2}, {"m1": "ab", "m2": "ab"}))
    after = assign_uniformly(group({"a": 2}, {"m1": "ab", "m2": "ab"}, before))
    check(group({"a": 2}, {"m1": "a", "m2": "a"}), after)
    assert sizes(after) == {"m1": 1, "m2": 1}


def test_a_partition_that_two_members_claim_goes_to_one() -> None:
    both = assign_uniformly(group({"a": 2}, {"m1": "a"}))["m1"]
    spec = group({"a": 2}, {"m1": "a", "m2": "a"}, {"m1": both, "m2": both})
    check(spec, assign_uniformly(spec))


def test_random_changes_stay_balanced_and_move_as_little_as_possible() -> None:
    draw = random.Random(848)
    for _ in range(200):
        counts = {letter: draw.randrange(1, 20) for letter in "abc"[: draw.randrange(1, 4)]}
        members = [f"m{number}" for number in range(draw.randrange(1, 12))]
        before = assign_uniformly(group(counts, dict.fromkeys(members, "abc")))
        stay = [each for each in members if draw.random() < 0.7]
        new = [f"n{number}" for number in range(draw.randrange(4))]
        if not stay + new:
            continue
        spec = group(counts, dict.fromkeys(stay + new, "abc"), before)
        after = assign_uniformly(spec)
        check(spec, after)
        count = sizes(after)
        assert max(count.values()) - min(count.values()) <= 1
        # Only what exceeds a member's share may move away from it.
        total, size = sum(counts.values()), len(stay + new)
        quota, extra = divmod(total, size)
        held = sorted((sizes(before)[each] for each in stay), reverse=True)
        shares = [quota + 1] * extra + [quota] * size
        surplus = sum(max(0, had - may) for had, may in zip(held, shares, strict=False))
        assert moved({each: before[each] for each in stay}, after) == surplus
