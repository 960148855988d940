"""How soon each client was served again after a fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.history.history import History
from harness.history.op import NEMESIS, background_process
from reports.calls import Calls
from reports.faults import bands
from reports.html import report
from reports.served import served_again, served_sentence, served_table
from tests.unit.reports.stored_runs import KEY, Rows, lost_write, with_figures

CLIENTS = 4
NODES = ("n1", "n2", "n3")


def kill(rows: Rows, at_ms: float, healed_ms: float, *, proof: bool = True) -> None:
    name = f"kill {at_ms:g}/n1"
    rows.row(at_ms, NEMESIS, "info", "start-kill", {"name": name, "node": "n1"})
    if proof:
        rows.row(at_ms + 1, NEMESIS, "info", "start-kill", {"fault": name, "proof": "gone"})
    rows.row(healed_ms, NEMESIS, "info", "stop-kill", {"fault": name, "healed": True})


def operation(
    rows: Rows, begin_ms: float, end_ms: float, process: int, type_: Any = "ok", f: str = "send"
) -> None:
    value = [["poll"]] if f == "poll" else [["send", KEY, begin_ms]]
    rows.row(begin_ms, process, "invoke", f, value)
    rows.row(end_ms, process, type_, f, value)


def found(rows: Rows) -> list[Any]:
    in_order = sorted(rows.ops, key=lambda op: (op.time_ns, op.index))
    history = History.of([replace(op, index=at) for at, op in enumerate(in_order)])
    calls = Calls(history)
    nemesis = [op for op in history if op.process == NEMESIS]
    return list(served_again(calls, bands(nemesis, NODES, calls.end_of_all_ns), CLIENTS))


def test_a_commit_in_the_background_serves_the_client_that_asked_for_it() -> None:
    rows = Rows()
    kill(rows, 1000, 2000)
    background = background_process(2, 1)
    rows.row(2050, background, "invoke", "commit", None)
    rows.row(2100, background, "ok", "commit", None)
    (told,) = found(rows)
    assert told["clients"] == {"c3": 0.05}


def test_each_client_is_measured_from_the_end_of_the_fault_to_its_first_answer() -> None:
    rows = Rows()
    kill(rows, 1000, 2000)
    operation(rows, 1500, 2250, 0)
    # A process that does not know goes on as another one, which is the same client.
    operation(rows, 1500, 2100, 1, "info")
    operation(rows, 2110, 2900, 1 + CLIENTS)
    operation(rows, 2050, 2400, 2)
    operation(rows, 1200, 1900, 3)
    (told,) = found(rows)
    assert (told["fault"], told["label"], told["ended_ms"]) == ("kill 1000", "kill n1", 2000.0)
    # c3 had nothing under way when the node came back, and c4 asked nothing any more.
    assert told["clients"] == {"c1": 0.25, "c2": 0.9, "c3": 0.35}


def test_a_client_that_is_never_served_again_is_named() -> None:
    rows = Rows()
    kill(rows, 1000, 2000)
    operation(rows, 1500, 3000, 0, "fail")
    operation(rows, 3000, 9000, 0, "info")
    operation(rows, 1500, 2100, 1)
    (told,) = found(rows)
    assert told["clients"] == {"c1": None, "c2": 0.1}
    table = served_table([told])
    assert table is not None
    assert table.rows[0].never == "c1"
    assert table.sentence == (
        "after the fault every client was served within 0.10 s, half of them within 0.10 s; "
        "1 time a client was never served again"
    )


@pytest.mark.parametrize("f", ["poll", "assign", "crash"])
def test_what_a_client_can_do_alone_is_no_service(f: str) -> None:
    rows = Rows()
    kill(rows, 1000, 2000)
    operation(rows, 2010, 2020, 0, f=f)
    operation(rows, 2030, 2500, 0)
    (told,) = found(rows)
    assert told["clients"] == {"c1": 0.47}


def test_a_fault_that_missed_and_a_run_without_load_say_nothing() -> None:
    rows = Rows()
    kill(rows, 1000, 2000, proof=False)
    operation(rows, 2010, 2500, 0)
    assert found(rows) == []
    quiet = Rows()
    kill(quiet, 1000, 2000)
    assert found(quiet) == []
    assert served_sentence([]) is None
    assert served_table([]) is None


def test_a_rolling_restart_counts_for_each_node() -> None:
    rows = Rows()
    rows.row(1000, NEMESIS, "info", "start-restart", {"name": "restart 1"})
    for ms, node in ((1200, "n2"), (1700, "n1")):
        rows.row(ms, NEMESIS, "info", "back-restart", {"fault": "restart 1", "back": node})
    rows.row(1710, NEMESIS, "info", "start-restart", {"fault": "restart 1", "proof": "all"})
    rows.row(1800, NEMESIS, "info", "stop-restart", {"fault": "restart 1", "healed": True})
    operation(rows, 1100, 1300, 0)
    operation(rows, 1650, 1900, 0)
    told = found(rows)
    assert [(each["label"], each["clients"]["c1"]) for each in told] == [
        ("restart n2", 0.1),
        ("restart n1", 0.2),
    ]


def test_dots_lie_between_nothing_and_the_longest_wait() -> None:
    rows = Rows()
    kill(rows, 1000, 2000)
    operation(rows, 1500, 2200, 0)
    operation(rows, 1500, 2800, 1)
    table = served_table(found(rows))
    assert table is not None
    assert [x for x, _ in table.rows[0].dots] == [table.width / 4, table.width]
    assert (table.axis, table.rows[0].longest) == ("0.80 s", "0.80 s (c2)")


def test_the_page_shows_it(tmp_path: Path) -> None:
    told = {"fault": "kill 1", "label": "kill n1", "ended_ms": 1600.0}
    figures = [{**told, "clients": {"c1": 0.25, "c2": 1.5, "c3": None}}]
    text = report(with_figures(lost_write(tmp_path), served_again=figures))
    assert "Back in service: after the fault every client was served within 1.50 s" in text
    assert "<title>c2: 1.500 s</title>" in text
    assert "1.50 s (c2)" in text
    assert '<th class="never">never</th>' in text
