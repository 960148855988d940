"""The pieces of a page, each by itself: calls, faults, leaders, messages, words."""

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.history.history import History
from harness.history.op import NEMESIS, Op
from reports import faults, logs
from reports.calls import Calls
from reports.leading import Missing, Reign
from reports.material import load
from reports.measures import longest_silence_s, rates, reading
from reports.panels import offsets_panel, ring
from reports.spacetime import spacetime
from reports.traced import METADATA, Trace
from reports.wording import cut, outcome, short
from tests.unit.reports.stored_runs import KEY, Rows, lost_write, page_of, stored, write_cluster

NODES = ("n1", "n2", "n3")


def test_calls_pair_what_belongs_together_and_leave_out_what_is_nobodys() -> None:
    rows = Rows()
    rows.row(0, 0, "invoke", "poll", [["poll"]])
    rows.row(1, 1, "invoke", "send", [["send", KEY, 1]])
    rows.row(2, 0, "ok", "assigned", {"group": "g", "generation": 1, "keys": [KEY]})
    rows.row(3, NEMESIS, "info", "start-kill", {})
    rows.row(4, 0, "ok", "poll", [["poll", {}]])
    calls = Calls(History.of(rows.ops))
    assert calls.begun.tolist() == [0, 1]
    assert calls.ended.tolist() == [4, -1]
    assert [calls.told(call).type for call in range(2)] == ["ok", "invoke"]
    assert calls.end_ns.tolist() == [4_000_000, 4_000_000]
    assert calls.call_of(3) is None
    assert calls.call_of(99) is None


def fault(time_s: float, f: str, **value: Any) -> Op:
    return Op(0, int(time_s * 1e9), NEMESIS, "info", f, value)


def test_the_faults_of_one_stroke_are_one_band_until_the_last_is_healed() -> None:
    found = faults.bands(
        [
            fault(1, "start-kill", name="kill 1/n1", node="n1"),
            fault(1, "start-kill", name="kill 1/n2", node="n2"),
            fault(2, "start-kill", fault="kill 1/n1", proof="gone"),
            fault(3, "stop-kill", fault="kill 1/n1", healed=True),
            fault(4, "stop-kill", fault="kill 1/n2"),
            fault(5, "stop-kill", fault="kill 1/n2", healed=True),
        ],
        NODES,
        int(9e9),
    )
    assert [(band.label, band.begin_ns, band.end_ns) for band in found] == [
        ("kill n1,n2", 1_000_000_000, 5_000_000_000)
    ]
    assert faults.into(found, int(2.5e9)) == "1.5 s into kill n1,n2"
    assert faults.into(found, int(6e9)) == "1.0 s after kill n1,n2 was healed"
    assert faults.into(found, 0) == "before any fault"


@pytest.mark.parametrize(
    ("links", "label"),
    [
        ([["n1", "n2"], ["n2", "n1"], ["n2", "n3"], ["n3", "n2"]], "partition [n1,n3] | [n2]"),
        ([["n1", "n2"], ["n2", "n1"]], "partition of 2 links"),
    ],
)
def test_a_cut_is_told_by_its_sides(links: list[list[str]], label: str) -> None:
    (band,) = faults.bands(
        [fault(1, "start-partition", name="partition 1", links=links)], NODES, int(2e9)
    )
    assert (band.label, band.end_ns) == (label, int(2e9))


def test_unread_counts_what_was_acknowledged_beyond_what_was_read() -> None:
    rows = Rows()
    rows.send(0, 0, 7, 0)
    rows.send(500, 0, 8, 1)
    rows.poll(2100, 1, [[0, 7]])
    rows.poll(3200, 1, [[1, 8]])
    calls = Calls(History.of(rows.ops))
    read = reading(calls)
    assert read.unread.tolist() == [2, 2, 1, 0]
    assert [(each.sent, each.read) for each in read.partitions] == [(2, 2)]
    found = rates(calls, read)
    assert found.ok.tolist() == [2, 0, 1, 1]
    assert np.isclose(found.waited_p99_s[0], 2.698, atol=0.01)
    assert longest_silence_s(calls) == 0.5


def test_of_two_records_acknowledged_at_one_offset_only_one_was_read() -> None:
    rows = Rows()
    rows.send(0, 0, 7, 0)
    rows.send(500, 0, 8, 0)
    rows.poll(2100, 1, [[0, 8]])
    read = reading(Calls(History.of(rows.ops)))
    assert [(each.sent, each.read) for each in read.partitions] == [(2, 1)]


@pytest.mark.parametrize("offset", [126, 127, 128, 32_767, 32_768])
def test_offsets_at_the_end_of_small_numbers_are_counted_right(offset: int) -> None:
    rows = Rows()
    rows.send(0, 0, 7, offset)
    assert reading(Calls(History.of(rows.ops))).unread.tolist() == [offset + 1]


def test_an_offset_out_of_this_world_costs_no_memory() -> None:
    rows = Rows()
    rows.send(0, 0, 7, 1 << 50)
    rows.poll(10, 1, [[1 << 50, 7]])
    read = reading(Calls(History.of(rows.ops)))
    assert [(each.sent, each.read) for each in read.partitions] == [(1, 1)]


def test_the_panel_shows_the_gap_between_what_was_sent_and_what_was_read(tmp_path: Path) -> None:
    calls = load(lost_write(tmp_path)).calls
    assert calls is not None
    panel = offsets_panel(calls, {"key": KEY, "offset": 4})
    assert panel is not None
    assert [(each.offset, each.sent, each.read) for each in panel.columns] == [
        (1, "ok", 1), (2, "ok", 1), (3, "ok", 1), (4, "ok", 0), (5, "ok", 1), (6, "ok", 1),
        (7, "ok", 1),
    ]  # fmt: skip
    assert offsets_panel(calls, {"key": "elsewhere", "offset": 4}) is None


def test_the_strip_keeps_the_guilty_and_all_of_their_time(tmp_path: Path) -> None:
    (kind,) = page_of(load(lost_write(tmp_path))).kinds
    strip = kind.shown[0].strip
    assert strip is not None
    assert next(bar.label for bar in strip.bars if bar.is_guilty) == f"send {KEY} ← 104 @4"
    assert [band.label for band in strip.bands] == ["kill n1"]
    assert strip.left_out == 0


@pytest.mark.parametrize("election_ms", [20_000, 40_000])
def test_the_strip_of_a_lost_write_shows_the_election_that_lost_it(
    tmp_path: Path, election_ms: int
) -> None:
    run = lost_write(tmp_path)
    rows = [json.loads(line) for line in (run / "cluster.jsonl").read_text().splitlines()]
    for row in rows:
        row["time_ns"] += (row["time_ns"] > 1_000_000_000) * election_ms * 1_000_000
    (run / "cluster.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (kind,) = page_of(load(run)).kinds
    strip = kind.shown[0].strip
    assert strip is not None
    elected_ns = election_ms * 1_000_000 + 1_100_000_000
    assert strip.from_ns < 904_000_000 < elected_ns < strip.to_ns
    assert [each.label for each in strip.reigns] == ["n1 leads, epoch 0", "n2 leads, epoch 2"]


def row(number: int, kind: str, time_ms: float, **more: Any) -> dict[str, Any]:
    names = ("node", "connection", "api", "topic", "detail")
    numbers = ("correlation_id", "partition", "offset", "epoch")
    return {
        "id": number, "cause": 0, "time_ns": int(time_ms * 1e6), "kind": kind,
        **dict.fromkeys((*names, *numbers)), **more,
    }  # fmt: skip


def traced(rows: list[dict[str, Any]]) -> Trace:
    texts = ("node", "kind", "connection", "api", "topic", "detail")
    table = pa.table(
        {
            name: pa.array(
                [each[name] for each in rows], pa.string() if name in texts else pa.int64()
            )
            for name in rows[0]
        }
    )
    return Trace(table, began_ns=1_000_000_000)


def test_a_trace_tells_who_led_who_was_in_sync_and_what_was_sent() -> None:
    log = {"topic": "q", "partition": 0}
    trace = traced(
        [
            row(1, "role", 500, node="n1", epoch=0, detail="leader", **log),
            row(9, "role", 600, node="n3", epoch=4, detail="leader", topic=METADATA, partition=0),
            row(2, "send", 1100, node="n1", api="Fetch"),
            row(3, "deliver", 1103, node="n2", cause=2, api="Fetch"),
            row(4, "send", 1104, node="n2", api="Fetch"),
            row(5, "drop", 1106, node="n1", cause=4, api="Fetch"),
            row(6, "isr", 1500, node="n3", detail="shrink [1, 2, 3]>[2, 3]", **log),
            row(7, "role", 1600, node="n2", epoch=1, detail="leader", **log),
            row(8, "crash", 1601, node="n1"),
        ]
    )
    leading = trace.leading
    assert leading.reigns["q-0"] == [
        Reign("n1", 0, -500_000_000, 600_000_000),
        Reign("n2", 1, 600_000_000, 601_000_000),
    ]
    assert leading.elections == 1
    assert leading.missing == [Missing(500_000_000, "q-0", 1, 3)]
    assert leading.controllers == [Reign("n3", 4, -400_000_000, 601_000_000)]
    messages = trace.messages(0, 200_000_000, NODES)
    assert [(each.sender, each.receiver, each.is_lost) for each in messages] == [
        ("n1", "n2", False),
        ("n2", "n1", True),
    ]
    drawn = spacetime(trace, NODES, [], 103_000_000)
    assert drawn is not None
    assert len(drawn.arrows) == 2
    assert spacetime(trace, NODES, [], int(90e9)) is None


def test_operations_in_few_words() -> None:
    polled = Op(0, 0, 0, "ok", "poll", [["poll", {KEY: [[at, at] for at in range(900, 910)]}]])
    assert outcome(polled) == f"→ {KEY} @900…909"
    assert outcome(polled, KEY, 905) == f"{KEY} → … 903, 904, 905, 906, 907 …"
    assert outcome(Op(0, 0, 0, "ok", "r", [["r", "x", [1, 2]]])) == "x → [1,2]"
    assert outcome(Op(0, 0, 0, "info", "crash", None)) == ""
    sent = [["send", KEY, [3, 9 << 32 | 414]], ["append", "x", 9 << 32 | 415]]
    assert outcome(Op(0, 0, 0, "ok", "send", sent)) == f"{KEY} ← 9:414 @3 · x ← 9:415"
    assert outcome(Op(0, 0, 0, "ok", "r", [["r", "x", [1, 9 << 32 | 7]]])) == "x → [1,9:7]"


def test_of_a_burst_the_record_in_question_is_shown_and_the_rest_counted() -> None:
    burst = [["send", "x" if at % 2 else "y", [at, 9 << 32 | at]] for at in range(21)]
    sent = Op(0, 0, 0, "ok", "send", burst)
    assert outcome(sent) == "y ← 9:0 @0 · x ← 9:1 @1 · y ← 9:2 @2 · 18 more"
    assert outcome(sent, "x", 7) == "x ← 9:7 @7 · 20 more"
    assert outcome(sent, "x") == "x ← 9:1 @1 · x ← 9:3 @3 · x ← 9:5 @5 · 18 more"
    assert outcome(sent, "elsewhere", 7) == outcome(sent)


@pytest.mark.parametrize("count", [2, 8, 9, 31])
def test_no_corner_of_a_ring_lies_on_another(count: int) -> None:
    nodes = [*range(count), 0]
    steps = [{"type": "ww", "because": f"reason {number}"} for number in range(count)]
    drawn = ring({"cycle": nodes, "steps": steps})
    assert drawn is not None
    for one, other in combinations(drawn.corners, 2):
        assert math.dist((one.x, one.y), (other.x, other.y)) > 2 * drawn.corner
    assert all(each.x - drawn.corner > 0 and each.x + drawn.corner < drawn.size
               for each in drawn.corners)  # fmt: skip
    assert [each.reason for each in drawn.edges] == [each["because"] for each in steps]


def test_findings_of_one_cause_are_alike_and_two_are_enough(tmp_path: Path) -> None:
    """Ten lost records of two sends, by one election: one proof of each send."""
    rows = Rows()
    sends = []
    for first in (0, 5):
        values = range(first, first + 5)
        rows.row(1000 + first, 0, "invoke", "send", [["send", KEY, at] for at in values])
        done = [["send", KEY, [at, at]] for at in values]
        sends.append(rows.row(1002 + first, 0, "ok", "send", done))
    rows.send(3000, 1, 77, 10)
    anomalies = [
        {"ops": [sends[at // 5]], "because": f"{at} is gone", "severity": "error", "contract": "",
         "witness": {"key": KEY, "value": at, "offset": at}}
        for at in range(10)
    ]  # fmt: skip
    run = stored(tmp_path, rows, {"lost-write": anomalies})
    write_cluster(run)
    (kind,) = page_of(load(run)).kinds
    assert [each.ops[0].index for each in kind.shown] == sends
    assert (kind.count, kind.left_out) == (10, 8)
    assert (short(9 << 32 | 414), short(-1), short("a" * 20)) == ("9:414", "-1", f"{'a' * 15}…")
    assert cut("x" * 500, 10) == "xxxxxxxxx…"


def test_logs_are_laid_beside_the_history_only_where_clocks_are_known(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    lines, left = logs.lines_around(run, 900_000_000)["n1"]
    assert [line.time for line in lines] == ["0.800 s", "0.900 s"]
    assert left == 0
    (run / "began.json").unlink()
    assert logs.lines_around(run, 900_000_000) == {}
