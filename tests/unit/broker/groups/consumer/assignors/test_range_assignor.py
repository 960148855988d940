"""The assignor `range`: runs of partitions, the same for topics that are joined."""

from __future__ import annotations

from broker.groups.consumer.assignors.range_assignor import assign_ranges
from tests.unit.broker.groups.consumer.assignors.specs import check, group, plain


def test_the_first_members_get_the_partitions_that_do_not_divide() -> None:
    spec = group({"a": 5}, {"m1": "a", "m2": "a", "m3": "a"})
    assert plain(assign_ranges(spec)) == {"m1": "a0 a1", "m2": "a2 a3", "m3": "a4"}


def test_topics_with_equally_many_partitions_are_cut_alike() -> None:
    spec = group({"a": 3, "b": 3}, {"m2": "ab", "m1": "ab"})
    assert plain(assign_ranges(spec)) == {"m1": "a0 a1 b0 b1", "m2": "a2 b2"}


def test_static_members_come_first_in_the_order_of_their_instances() -> None:
    spec = group(
        {"a": 4}, {"m1": "a", "m2": "a", "m3": "a", "m4": "a"}, None, {"m4": "i1", "m2": "i2"}
    )
    assert plain(assign_ranges(spec)) == {"m4": "a0", "m2": "a1", "m1": "a2", "m3": "a3"}


def test_a_restarted_static_member_keeps_its_range() -> None:
    before = plain(assign_ranges(group({"a": 3}, {"x": "a", "m2": "a"}, None, {"x": "i"})))
    after = plain(assign_ranges(group({"a": 3}, {"z": "a", "m2": "a"}, None, {"z": "i"})))
    assert before["x"] == after["z"] == "a0 a1"


def test_names_are_compared_as_java_does() -> None:
    """By UTF-16 code units: a character beyond the first 65536 begins with a surrogate."""
    spec = group({"a": 2}, {"\U0001f600": "a", "\uffff": "a"})
    assert plain(assign_ranges(spec)) == {"\U0001f600": "a0", "\uffff": "a1"}


def test_only_subscribers_of_a_topic_share_it() -> None:
    spec = group({"a": 3, "b": 2}, {"m1": "a", "m2": "ab", "m3": "b", "m4": ""})
    assignment = assign_ranges(spec)
    check(spec, assignment)
    assert plain(assignment) == {"m1": "a0 a1", "m2": "a2 b0", "m3": "b1", "m4": ""}


def test_a_target_that_stays_is_the_same_object() -> None:
    before = assign_ranges(group({"a": 5}, {"m1": "a", "m2": "a"}))
    after = assign_ranges(group({"a": 5}, {"m1": "a", "m2": "a"}, before))
    assert all(after[member_id] is before[member_id] for member_id in before)
