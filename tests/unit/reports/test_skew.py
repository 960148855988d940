"""Skew is named: which partition got how much more than its share."""

from __future__ import annotations

from reports.skew import hot_partitions, skew_sentence


def test_a_hot_partition_is_named_with_its_share() -> None:
    counts = {"t-0": 610, "t-1": 130, "t-2": 130, "t-3": 130}
    assert skew_sentence(counts) == ("t-0 got 61 % of the records of t, where 25 % would be even")


def test_an_even_load_is_no_skew() -> None:
    assert skew_sentence({f"t-{index}": 100 + index for index in range(8)}) is None
    assert skew_sentence({"t-0": 1000}) is None
    assert skew_sentence({"t-0": 0, "t-1": 0}) is None
    assert skew_sentence({}) is None


def test_each_topic_is_by_itself_and_the_hottest_comes_first() -> None:
    counts = {"a-0": 7000, "a-1": 1000, "a-2": 1000, "b-0": 10, "b-1": 10, "b-2": 80, "c-0": 9}
    found = hot_partitions(counts)
    assert [(each.key, round(each.share, 2)) for each in found] == [("b-2", 0.8), ("a-0", 0.78)]


def test_of_two_partitions_one_may_have_three_quarters() -> None:
    assert not hot_partitions({"t-0": 74, "t-1": 26})
    assert [each.key for each in hot_partitions({"t-0": 76, "t-1": 24})] == ["t-0"]
