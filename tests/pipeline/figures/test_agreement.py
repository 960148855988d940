"""Figures of real stored runs say what a run's own results and its page say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from harness.history.history import History
from harness.history.op import NEMESIS
from harness.history.schema import OK
from harness.run.survived import strokes_of
from harness.store.results import RunResults
from harness.store.store import Store
from harness.store.stored_run import read_results
from pipeline.figures.store import FigureStore
from reports.calls import RECORD, SENT, Calls
from reports.groups_seen import groups_seen
from reports.measures import behind, slots
from reports.skew import hot_partitions
from tests.pipeline.figures.handmade_runs import CLIENTS, SIMULATED
from tests.pipeline.made_store import BEGAN

pytestmark = [
    *(pytest.mark.spark, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)),
    pytest.mark.usefixtures("figures"),
]
ROUNDED_S = 0.0002
"""Times of faults are stored to a tenth of a millisecond."""
Row = Mapping[str, Any]


@pytest.fixture(params=SIMULATED)
def run(request: pytest.FixtureRequest, store: Path) -> Path:
    (found,) = (each for each in Store(store).runs() if is_simulated(each, request.param))
    return found


@pytest.fixture
def results(run: Path) -> RunResults:
    return read_results(run)


@pytest.fixture
def calls(run: Path) -> Calls:
    return Calls(History.load(run))


def is_simulated(run: Path, workload: str) -> bool:
    return run.parent.name.startswith(workload) and not run.name.startswith(
        BEGAN.strftime("%Y%m%d")
    )


def rows(figures: FigureStore, name: str, run: Path) -> list[Row]:
    like = f"{run.parent.name}/{run.name}%"
    return [row.asDict() for row in figures.read(name).where(f"run LIKE '{like}'").collect()]


def test_outcomes_and_writes_under_faults(
    figures: FigureStore, run: Path, results: RunResults
) -> None:
    found = rows(figures, "availability", run)
    told = results.figures
    assert sum(row["ok"] for row in found) == told["ok"]
    assert sum(row["fail"] for row in found) == told["fail"]
    survived = told["survived"]
    assert survived is not None
    inside = sum(row["writes_ok"] for row in found if row["in_fault"])
    assert abs(inside - survived["writes"]) <= 1


def test_how_soon_clients_were_served_again(
    figures: FigureStore, run: Path, results: RunResults
) -> None:
    told = {each["fault"]: each for each in results.figures["served_again"]}
    found = {row["stroke"]: row for row in rows(figures, "recovery", run)}
    assert set(told) == set(found)
    assert told
    for name, each in told.items():
        waits = [wait for wait in each["clients"].values() if wait is not None]
        row = found[name]
        assert row["ended_s"] * 1000 == pytest.approx(each["ended_ms"], abs=0.2)
        assert row["clients"] == len(each["clients"])
        assert row["never_served"] == len(each["clients"]) - len(waits)
        if waits:
            assert row["served_longest_s"] == pytest.approx(max(waits), abs=ROUNDED_S)
            assert row["served_median_s"] == pytest.approx(median(waits), abs=ROUNDED_S)


def test_latencies_outside_of_faults(figures: FigureStore, run: Path, calls: Calls) -> None:
    strokes = strokes_of((op for op in calls.history if op.process == NEMESIS), calls.end_of_all_ns)
    outside = np.ones(len(calls), np.bool_)
    for stroke in strokes.values():
        outside &= (calls.end_ns < stroke.hold_ns) | (calls.end_ns > stroke.end_ns)
    found = {row["f"]: row for row in rows(figures, "latency", run) if row["faults"] == ""}
    assert found
    for code, name in enumerate(calls.rows.names):
        own = outside & (calls.type == OK) & (calls.f == code)
        took_ms = (calls.end_ns - calls.begin_ns)[own] / 1e6
        assert (name in found) == bool(len(took_ms))
        if len(took_ms):
            row = found[name]
            assert row["operations"] == len(took_ms)
            assert row["max_ms"] == pytest.approx(took_ms.max(), abs=0.001)
            wanted = np.quantile(took_ms, (0.5, 0.9, 0.99))
            assert [row["p50_ms"], row["p90_ms"], row["p99_ms"]] == pytest.approx(wanted, abs=0.002)


def test_the_load_of_each_partition_and_what_is_hot(
    figures: FigureStore, run: Path, results: RunResults
) -> None:
    told = results.figures["partitions"]
    found = {row["partition"]: row for row in rows(figures, "load", run)}
    assert {key: row["acknowledged"] for key, row in found.items()} == {
        key: each["acknowledged"] for key, each in told.items()
    }
    for key, each in told.items():
        assert found[key]["share"] == pytest.approx(each["share"], abs=1e-4)
    counts = {key: each["acknowledged"] for key, each in told.items()}
    hot = {each.key for each in hot_partitions(counts)}
    assert {key for key, row in found.items() if row["is_hot"]} == hot


def test_the_lag_of_each_partition(figures: FigureStore, run: Path, calls: Calls) -> None:
    found = {row["partition"]: row for row in rows(figures, "lag", run)}
    elements, time_ns = calls.elements, calls.rows.time_ns
    offset = elements.offset.astype(np.int64)
    is_ok = calls.rows.type[elements.row] == OK
    ends = slots(calls.end_of_all_ns)
    for number, key in enumerate(calls.history.keys):
        own = (elements.key == number) & (elements.offset >= 0)
        acked = np.flatnonzero(own & is_ok & np.isin(elements.kind, SENT))
        read = np.flatnonzero(own & (elements.kind == RECORD))
        if not len(acked) and not len(read):
            continue
        lag = behind(
            ends, time_ns[elements.row[acked]], offset[acked],
            time_ns[elements.row[read]], offset[read],
        )  # fmt: skip
        assert (found[str(key)]["lag_max"], found[str(key)]["lag_at_end"]) == (lag.max(), lag[-1])


def test_the_findings_of_each_type(figures: FigureStore, run: Path, results: RunResults) -> None:
    found = rows(figures, "anomaly_counts", run)
    told = {row["type"]: row["findings"] for row in found if row["promise"] == "never"}
    assert told == results.counts()


def test_the_generations_of_groups(figures: FigureStore, run: Path, calls: Calls) -> None:
    seen = groups_seen(calls, CLIENTS)
    found = rows(figures, "rebalances", run)
    if seen is None:
        assert not found
    else:
        assert sum(row["generations"] for row in found) == seen.generations
        assert sum(row["lost"] for row in found) >= seen.fenced


def test_the_states_that_were_reached(figures: FigureStore, run: Path, results: RunResults) -> None:
    found = {row["name"]: row["count"] for row in rows(figures, "reached", run)
             if row["what"] == "state"}  # fmt: skip
    states = results.figures["states"]
    assert found == {name: count for name, count in states.items() if count is not None}
