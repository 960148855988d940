"""Figures of runs that were written down by hand, against what a hand computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.figures.figures import FIGURES
from pipeline.figures.store import FigureStore
from pipeline.lake import Lake

# The first test of the session makes the lake and its figures.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]
Rows = list[dict[str, Any]]


def rows(figures: FigureStore, name: str, like: str, *columns: str) -> Rows:
    """Of the runs whose name begins so."""
    found = figures.read(name).where(f"run LIKE '{like}%'")
    return [row.asDict() for row in found.select(*columns).orderBy(*columns).collect()]


def every(figures: FigureStore, name: str) -> Rows:
    return [row.asDict() for row in figures.read(name).collect()]


FIRST = "queue kill/20261116T0015"
GROUP = "group kill/20261116T0016"
INVALID = "queue kill/20261116T0017"


def test_availability_counts_operations_and_slots_on_both_sides(figures: FigureStore) -> None:
    columns = ("in_fault", "operations", "ok", "writes_ok", "slots", "slots_available")
    outside, inside = rows(figures, "availability", FIRST, *columns)
    assert tuple(outside.values()) == (False, 6, 6, 4, 4, 3)
    # The refused send waited from 1.1 s to 1.9 s; the slot in which the kill was healed counts.
    assert tuple(inside.values()) == (True, 1, 0, 0, 10, 0)


def test_a_client_is_served_from_the_heal_or_its_next_question_on(figures: FigureStore) -> None:
    (found,) = rows(
        figures, "recovery", FIRST, "stroke", "nemesis", "ended_s", "clients", "served_median_s",
        "served_longest_s", "never_served", "first_write_s", "last_client_write_s",
    )  # fmt: skip
    *names, median, longest, never, first, last = found.values()
    assert names == ["kill 1", "kill", 2.0, 2]
    assert (median, longest, never, first, last) == pytest.approx((0.175, 0.3, 0, 0.1, 0.3))


def test_quantiles_lie_between_the_latencies_as_numpy_has_them(figures: FigureStore) -> None:
    columns = ("f", "faults", "operations", "p50_ms", "p90_ms", "max_ms")
    found = [tuple(row.values()) for row in rows(figures, "latency", FIRST, *columns)]
    # The one send during the kill was refused, so it has no latency.
    assert [row[:3] for row in found] == [("poll", "", 2), ("send", "", 4)]
    assert found[1][3:] == pytest.approx((30.0, 855.0, 1200.0))


def test_the_load_names_no_hot_partition_of_three_quarters(figures: FigureStore) -> None:
    found = rows(figures, "load", FIRST, "partition", "topic", "acknowledged", "share", "is_hot")
    assert [tuple(row.values()) for row in found] == [
        ("o-0", "o", 3, 0.75, False),
        ("o-1", "o", 1, 0.25, False),
    ]


def test_the_lag_is_the_largest_at_the_end_of_a_second(figures: FigureStore) -> None:
    columns = ("partition", "acknowledged_to", "read_to", "lag_max", "lag_at_end")
    found = rows(figures, "lag", FIRST, *columns)
    assert [tuple(row.values()) for row in found] == [("o-0", 3, 3, 3, 0), ("o-1", 1, 1, 1, 0)]


def test_a_member_pauses_from_its_revocation_to_its_next_assignment(figures: FigureStore) -> None:
    """Who leaves does not pause."""
    (found,) = rows(figures, "rebalance_pauses", GROUP, "process", "how", "generation",
                    "partitions", "began_s", "paused_s", "until_polled_s")  # fmt: skip
    assert tuple(found.values()) == (0, "revoked", 1, 2, 1.0, 0.3, 0.4)
    (group,) = rows(figures, "rebalances", GROUP, "group", "generations", "processes", "pauses")
    assert tuple(group.values()) == ("g", 2, 2, 1)


def test_a_finding_belongs_to_the_fault_in_force_when_its_first_operation_ended(
    figures: FigureStore,
) -> None:
    (found,) = rows(figures, "anomalies_by_fault", INVALID, "type", "promise", "faults", "shown")
    assert tuple(found.values()) == ("lost-write", "never", "kill", 1)
    (counted,) = rows(figures, "anomaly_counts", INVALID, "type", "findings", "shown")
    assert tuple(counted.values()) == ("lost-write", 3, 1)


def test_losses_are_those_that_the_checkers_counted(figures: FigureStore) -> None:
    columns = ("acks", "acknowledged", "lost", "duplicated", "unseen")
    (found,) = rows(figures, "losses", INVALID, *columns)
    assert tuple(found.values()) == ("1", 4, 3, 0, None)
    by_acks = {(row["release"], row["acks"]): row for row in every(figures, "losses_by_acks")}
    assert by_acks["bbbbbbbbbbbb", "1"]["lost_share"] == 0.75
    assert by_acks["aaaaaaaaaaaa", "all"]["lost_share"] == 0.0


def test_a_state_that_a_place_does_not_show_is_not_zero(figures: FigureStore) -> None:
    found = [
        tuple(row.values()) for row in rows(figures, "reached", FIRST, "what", "name", "count")
    ]
    assert [row[1:] for row in found if row[0] == "state"] == [("elections", 2), ("leaderless", 0)]
    assert ("fault", "kill", 1) in found
    assert ("workload", "queue", 1) in found


def test_releases_are_in_the_order_of_their_first_runs(figures: FigureStore) -> None:
    found = sorted(every(figures, "releases"), key=lambda row: row["first_began"])
    told = [(row["release"], row["runs"], row["valid"], row["invalid"]) for row in found[:2]]
    assert told == [("aaaaaaaaaaaa", 2, 2, 0), ("bbbbbbbbbbbb", 1, 0, 1)]


def test_what_was_not_committed_is_not_read_and_goes_with_the_next_build(
    figures: FigureStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A driver that is killed between two figures leaves the old ones."""
    few = {name: FIGURES[name] for name in ("releases", "verdicts_by_day")}
    monkeypatch.setattr("pipeline.figures.store.FIGURES", few)
    lake = Lake(figures.lake.spark, str(tmp_path / "lake"))
    lake.write("runs", figures.lake.table("runs"), "first")
    lake.commit("ingest", adds=["first"])
    store = FigureStore(lake)
    assert [each.name for each in store.rewrite()] == list(few)
    before = store.build
    assert before is not None
    killed = store.rewrite()
    assert [next(killed).name, next(killed).name] == list(few)
    killed.close()
    assert FigureStore(lake).build == before
    assert len(list(store.log.directories("releases"))) == 2
    for _ in store.rewrite():
        assert every(FigureStore(lake), "releases")
    assert store.build != before
    kept = set(store.log.directories("releases"))
    assert kept == {f"build={before}", f"build={store.build}"}
