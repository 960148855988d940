"""Counts of group states from the history of a real run."""

from __future__ import annotations

from pathlib import Path

from harness.history.history import History
from harness.history.op import NEMESIS
from reports.calls import Calls
from reports.groups_seen import GroupsSeen, groups_seen
from reports.protocol_states import count_states, never_reached
from tests.unit.reports.group_runs import GroupRows, keys
from tests.unit.reports.stored_runs import Rows


def seen(rows: Rows) -> GroupsSeen | None:
    return groups_seen(Calls(History.of(rows.ops)), clients=4)


def move(rows: Rows, ms: float, topic: str, *, is_proved: bool) -> None:
    name = f"move {ms}/{topic}-0"
    value = {"kind": "move_leader", "name": name, "topic": topic, "partition": 0}
    rows.row(ms, NEMESIS, "info", "start-move", value)
    if is_proved:
        proof = {"fault": name, "proof": f"n2 leads {topic}-0; before, n1 led it"}
        rows.row(ms + 1, NEMESIS, "info", "start-move", proof)


def test_generations_losses_proved_moves_and_refused_commits_are_counted(tmp_path: Path) -> None:
    rows = GroupRows()
    rows.subscribe(0, 0)
    rows.assigned(100, 0, 1, keys(0, 1))
    rows.subscribe(200, 1)
    rows.assigned(300, 1, 2, keys(1))
    move(rows, 350, "__consumer_offsets", is_proved=True)
    move(rows, 360, "__consumer_offsets", is_proved=False)
    move(rows, 370, "orders", is_proved=True)
    rows.commit(400, 0, 1, {"orders-0": 3}, error="ILLEGAL_GENERATION: generation 2")
    rows.commit(450, 0, 1, {"orders-0": 3}, error="NETWORK: gone")
    rows.lost(500, 0, 1, keys(0))
    found = seen(rows)
    assert found == GroupsSeen(generations=2, fenced=1, coordinator_moves=1, commits_refused=1)
    counts = count_states(tmp_path, 10**9, found)
    assert counts["rebalances"] == 2
    assert counts["members-fenced"] == 1
    assert counts["coordinator-moves"] == 1
    assert counts["zombie-commits-refused"] == 1
    assert never_reached(counts) == []


def test_members_to_whom_nothing_happened_have_reached_nothing(tmp_path: Path) -> None:
    rows = GroupRows()
    rows.subscribe(0, 0)
    found = seen(rows)
    assert found == GroupsSeen(generations=0, fenced=0, coordinator_moves=0, commits_refused=0)
    assert len(never_reached(count_states(tmp_path, 10**9, found))) == 4


def test_a_run_without_groups_lacks_nothing(tmp_path: Path) -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    move(rows, 10, "__consumer_offsets", is_proved=True)
    assert seen(rows) is None
    assert count_states(tmp_path, 10**9, seen(rows))["coordinator-moves"] is None
