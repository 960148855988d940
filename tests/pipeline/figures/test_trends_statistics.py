"""Comparison of two releases, without Spark."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from statistics import median

import pytest

from harness.errors import UsageFailure
from pipeline.intervals import RUNS_MIN, Interval, median_interval, share_interval
from pipeline.trends import Pair, chosen, finding, of_anomaly, releases_of
from pipeline.unexercised import missing_in, never_exercised
from reports.trends import Release


def test_fewer_than_six_runs_have_no_interval() -> None:
    assert median_interval([1.0] * (RUNS_MIN - 1)) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)


@pytest.mark.parametrize(("count", "rank"), [(8, 1), (9, 2), (20, 6), (100, 40), (1000, 469)])
def test_the_ranks_are_those_of_the_tables_of_the_sign_test(count: int, rank: int) -> None:
    """Wackerly and others, appendix: ranks from 1, of 95 % or more."""
    ordered = [float(number) for number in range(1, count + 1)]
    assert median_interval(ordered) == (rank, count + 1 - rank)


@pytest.mark.parametrize("count", [6, 15, 60, 1500])
def test_the_interval_holds_the_median_nineteen_times_of_twenty(count: int) -> None:
    """Of a distribution with a long tail."""
    numbers = random.Random(7)
    held = 0
    for _ in range(400):
        ordered = sorted(numbers.paretovariate(1.1) for _ in range(count))
        interval = median_interval(ordered)
        assert interval is not None
        held += interval.low <= 2 ** (1 / 1.1) <= interval.high
        assert interval.low <= median(ordered) <= interval.high
    assert held >= 0.93 * 400


def test_wilsons_interval_is_his() -> None:
    assert share_interval(3, 10) == pytest.approx((0.1078, 0.6032), abs=1e-4)
    assert share_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert share_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert share_interval(0, 0) == (0.0, 1.0)


def test_intervals_that_overlap_say_nothing() -> None:
    low, high, between = Interval(1, 2), Interval(3, 4), Interval(1.5, 3.5)
    assert finding(low, high, better_high=False) == "worse"
    assert finding(low, high, better_high=True) == "better"
    assert finding(high, low, better_high=False) == "better"
    assert finding(low, between, better_high=False) == "same"
    assert finding(low, Interval(2, 3), better_high=False) == "same"
    assert finding(low, None, better_high=False) == "few"


def test_a_new_anomaly_is_shown_even_if_its_rate_may_be_chance() -> None:
    overlapping = (share_interval(0, 10), share_interval(1, 10))
    assert of_anomaly((0, 1), overlapping) == "new"
    assert of_anomaly((0, 1), (None, None)) == "new"
    assert of_anomaly((1, 2), overlapping) == "same"
    assert of_anomaly((0, 50), (share_interval(0, 50), share_interval(50, 50))) == "worse"


def test_the_last_two_releases_are_compared() -> None:
    assert chosen(["a", "b", "c"], None, None) == Pair("b", "c")
    assert chosen(["a", "b", "c"], "a", None) == Pair("a", "c")
    assert chosen(["a", "b", "c"], None, "b") == Pair("a", "b")
    assert chosen(["a", "b", "c"], "c", None) == Pair("c", "b")
    assert chosen(["a", "b", "c"], None, "a") == Pair("c", "a")
    assert chosen(["a"], None, None) is None
    with pytest.raises(UsageFailure, match="choose two of a, b"):
        chosen(["a", "b"], None, "x")
    with pytest.raises(UsageFailure, match="is both"):
        chosen(["a", "b"], "a", "a")


def test_systems_with_releases_of_one_name_are_one_release() -> None:
    def row(system: str | None, release: str, day: int, valid: int) -> dict[str, object]:
        counts = {"runs": valid + 2, "valid": valid, "invalid": 0, "unknown": 1, "not_judged": 1}
        began = datetime(2026, 11, day, tzinfo=UTC)
        return {"system": system, "release": release, "first_began": began, **counts}

    found = releases_of([row("kafka", "unknown", 1, 3), row(None, "unknown", 2, 4)])
    assert found == [Release("unknown", "2026-11-01", runs=11, valid=7, invalid=0, unknown=4)]
    assert chosen([each.name for each in found], None, None) is None


def test_what_no_run_reached_is_named_and_a_count_of_zero_is_not_reached() -> None:
    def row(release: str, what: str, name: str, reached: int = 1) -> dict[str, object]:
        return {"release": release, "what": what, "name": name, "runs_reached": reached}

    reached = [
        row("a", "nemesis", "kill"),
        row("b", "nemesis", "pause"),
        row("a", "workload", "queue"),
        row("b", "workload", "queue"),
        row("a", "state", "elections"),
        row("b", "state", "elections", 0),
    ]
    never = {each.kind: each.names for each in never_exercised(reached)}
    assert "partition" in never["nemeses"]
    assert not {"kill", "pause"} & set(never["nemeses"])
    assert "txn" in never["workloads"]
    assert "a partition without a leader" in never["states"]
    gone = {each.kind: each.names for each in missing_in(reached, "a", "b")}
    assert gone == {"nemeses": ("kill",), "states": ("a change of leader",)}
