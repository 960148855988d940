"""States of the protocol are counted from what a run stored, and those never reached are named."""

from __future__ import annotations

import json
from pathlib import Path

from reports.protocol_states import STATES, count_states, never_reached, total
from tests.unit.reports.stored_runs import lost_write

END_NS = 3_000_000_000


def test_a_run_of_real_nodes_counts_what_its_nodes_said(tmp_path: Path) -> None:
    counts = count_states(lost_write(tmp_path), END_NS)
    assert counts == {
        "elections": 1,
        "highest-leader-epoch": 2,
        "leaderless": 1,
        "controller-changes": 1,
        "isr-shrinks": 1,
        "most-out-of-sync": 1,
        "truncations": None,
        "rebalances": None,
        "members-fenced": None,
        "coordinator-moves": None,
        "zombie-commits-refused": None,
        "transactions-committed": None,
        "transactions-aborted": None,
        "transactions-timed-out": None,
        "producers-fenced": None,
        "transaction-coordinator-moves": None,
    }
    assert never_reached(counts) == []


def test_a_run_in_which_nothing_changed_has_reached_nothing(tmp_path: Path) -> None:
    row = {"time_ns": 0, "node": "n1", "key": "t-0", "replicas": ["n1"], "isr": ["n1"]}
    (tmp_path / "cluster.jsonl").write_text(json.dumps({**row, "leader": "n1", "epoch": 0}) + "\n")
    counts = count_states(tmp_path, END_NS)
    shown = [state for state in STATES if counts[state.name] is not None]
    assert len(shown) == 6
    assert never_reached(counts) == [state.about for state in shown]


def test_where_nobody_looked_nothing_is_said(tmp_path: Path) -> None:
    counts = count_states(tmp_path, END_NS)
    assert set(counts.values()) == {None}
    assert never_reached(counts) == []


def test_several_runs_are_added_up() -> None:
    runs: list[dict[str, int | None]] = [
        {"elections": 2, "highest-leader-epoch": 7, "rebalances": None},
        {"elections": 0, "highest-leader-epoch": 3, "rebalances": 4},
    ]
    assert [line.split() for line in total(runs)] == [
        ["elections", "2", "in", "1", "of", "2", "runs"],
        ["highest-leader-epoch", "7", "in", "2", "of", "2", "runs"],
        ["rebalances", "4", "in", "1", "of", "1", "runs"],
    ]
