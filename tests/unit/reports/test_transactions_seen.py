"""Counts of transactions from the history of a run."""

from __future__ import annotations

from pathlib import Path

from harness.history.history import History
from harness.history.op import OpType
from reports.calls import Calls
from reports.protocol_states import count_states, never_reached
from reports.transactions_seen import TransactionsSeen, transactions_seen
from tests.unit.reports.stored_runs import Rows
from tests.unit.reports.test_groups_seen import move


def seen(rows: Rows) -> TransactionsSeen | None:
    return transactions_seen(Calls(History.of(rows.ops)))


def begin(rows: Rows, ms: float, process: int, timeout_ms: int = 3000) -> None:
    value = {"id": f"t{process}", "timeout-ms": timeout_ms}
    rows.row(ms, process, "invoke", "init-transactions", value)
    rows.row(ms + 1, process, "ok", "init-transactions", value)


def transaction(
    rows: Rows, ms: float, process: int, end: str, *, took_ms: float = 5, fenced: bool = False
) -> None:
    outcomes: dict[str, OpType] = {"committed": "ok", "unknown": "info"}
    type_ = outcomes.get(end, "fail")
    sends = [["send", "t-0", [0, int(ms)]]]
    value = {"id": f"t{process}", "protocol": 1, "end": end, "fenced": fenced, "steps": []}
    rows.row(ms, process, "invoke", "txn", [["send", "t-0", int(ms)]])
    rows.row(ms + took_ms, process, "ok", "transaction", value)
    rows.row(ms + took_ms + 1, process, type_, "txn", sends)


def test_ends_time_outs_fencings_and_moves_are_counted(tmp_path: Path) -> None:
    rows = Rows()
    begin(rows, 0, 0)
    begin(rows, 0, 1)
    transaction(rows, 100, 0, "committed")
    transaction(rows, 200, 0, "aborted")
    transaction(rows, 300, 1, "committed")
    move(rows, 350, "__transaction_state", is_proved=True)
    move(rows, 360, "__consumer_offsets", is_proved=True)
    transaction(rows, 400, 0, "unknown", took_ms=3100, fenced=True)
    transaction(rows, 500, 1, "left", fenced=True)
    found = seen(rows)
    assert found == TransactionsSeen(
        committed=2, aborted=1, left=1, unknown=1, timed_out=1, fenced=2, coordinator_moves=1,
        protocols=(1,),
    )  # fmt: skip
    assert found.sentence == (
        "2 committed, 1 aborted, 1 left open, 1 of unknown outcome, 1 timed out, 2 fenced"
    )
    counts = count_states(tmp_path, 10**9, transactions=found)
    assert counts["transactions-committed"] == 2
    assert counts["producers-fenced"] == 2
    assert counts["transaction-coordinator-moves"] == 1
    assert never_reached(counts) == []


def test_a_run_without_transactions_lacks_nothing(tmp_path: Path) -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    assert seen(rows) is None
    assert count_states(tmp_path, 10**9)["transactions-committed"] is None
