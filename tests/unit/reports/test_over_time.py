"""The cluster over time: who led, clocks, how long a fault was felt, and how it is drawn."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.history.history import History
from harness.history.op import NEMESIS
from reports.calls import Calls
from reports.clocks import as_set
from reports.faults import Band
from reports.html import report
from reports.leading import Leading, Missing, Reign, load_leading, reigns_of
from reports.material import load
from reports.recovery import by_kind, recoveries
from tests.unit.reports.stored_runs import KEY, Rows, lost_write, write_cluster

GOLDEN = Path(__file__).parent / "golden" / "over-time.svg"
S = 1_000_000_000


def test_what_the_nodes_said_becomes_reigns(tmp_path: Path) -> None:
    write_cluster(tmp_path)
    found = load_leading(tmp_path, 3 * S)
    assert found is not None
    assert found.reigns == {
        KEY: [Reign("n1", 0, S // 10, S), Reign("n2", 2, 1_100_000_000, 3 * S)],
    }
    assert [each.node for each in found.controllers] == ["n1", "n3"]
    assert found.elections == 1
    assert list(found.out_of_sync()) == [
        (S // 10, 0), (S, 0), (1_100_000_000, 1), (2 * S, 0),
    ]  # fmt: skip
    assert found.clocks == {"n3": [(1_300_000_000, -0.25)]}


def test_a_run_that_was_killed_may_have_half_a_line(tmp_path: Path) -> None:
    write_cluster(tmp_path)
    path = tmp_path / "cluster.jsonl"
    path.write_text(path.read_text()[:-20])
    found = load_leading(tmp_path, 3 * S)
    assert found is not None
    assert [each.count for each in found.missing] == [0, 0, 1]
    assert load_leading(tmp_path / "nobody asked", 3 * S) is None


ODD = (
    "nonsense",
    "7",
    "[" * 100_000,
    '{"node": "n1"}',
    '{"time_ns": "soon", "controller": "n1", "epoch": 1}',
    '{"time_ns": null, "controller": "n1", "epoch": 1}',
    '{"time_ns": 5, "controller": "n1"}',
    '{"time_ns": 5, "controller": 3, "epoch": 1}',
    '{"time_ns": 5, "key": "k-0"}',
    '{"time_ns": 5, "key": "k-0", "leader": "n1", "epoch": 0, "isr": 3, "replicas": null}',
    '{"time_ns": 5, "key": "k-0", "leader": "n1", "epoch": "x", "isr": [], "replicas": []}',
    '{"time_ns": 5, "node": ["n1"], "clock_offset_s": 1}',
    '{"time_ns": 5, "node": "n1", "clock_offset_s": NaN}',
    '{"time_ns": 5, "node": "n1", "clock_offset_s": "late"}',
    '{"time_ns": 1e999, "controller": "n1", "epoch": 1}',
)


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_a_line_that_makes_no_sense_is_counted_and_ends_nothing(tmp_path: Path, odd: str) -> None:
    write_cluster(tmp_path)
    whole = load_leading(tmp_path, 3 * S)
    assert whole is not None
    path = tmp_path / "cluster.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first, odd + "\n", *others]))
    found = load_leading(tmp_path, 3 * S)
    assert found == replace(whole, unread=1)


def test_the_page_tells_of_lines_that_make_no_sense(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    with (run / "cluster.jsonl").open("a") as file:
        file.write('{"time_ns": {}, "key": 1}\n')
    page = report(run)
    assert "invalid lines of cluster.jsonl" in page


def test_a_leader_that_stays_through_an_epoch_is_one_who_was_elected_again() -> None:
    told = [(0, "n1", 0), (5, "n1", 0), (7, "n1", 1), (9, None, 2), (12, "n1", 3)]
    assert reigns_of(told, 20) == [
        Reign("n1", 0, 0, 7),
        Reign("n1", 1, 7, 9),
        Reign("n1", 3, 12, 20),
    ]


def test_replicas_out_of_sync_are_counted_over_all_partitions() -> None:
    missing = [Missing(1, "a", 1, 3), Missing(2, "b", 2, 3), Missing(3, "a", 0, 3)]
    leading = Leading(missing=missing)
    assert list(leading.out_of_sync()) == [(1, 1), (2, 3), (3, 2)]
    assert leading.was_out_of_sync
    assert not Leading(missing=missing[2:]).was_out_of_sync


def clock_fault(rows: Rows, from_ms: float, to_ms: float, **fault: Any) -> None:
    name = f"clock {from_ms:g}/{fault['node']}"
    rows.row(from_ms, NEMESIS, "info", "start-clock", {"name": name, **fault})
    rows.row(from_ms, NEMESIS, "info", "start-clock", {"fault": name, "proof": "it moved"})
    rows.row(to_ms, NEMESIS, "info", "stop-clock", {"fault": name})
    rows.row(to_ms, NEMESIS, "info", "stop-clock", {"fault": name, "healed": True})


def test_a_clock_jumps_gains_and_flickers_as_it_was_set() -> None:
    rows = Rows()
    clock_fault(rows, 1000, 2000, kind="clock_jump", node="n1", by_ms=-500.0)
    clock_fault(rows, 3000, 5000, kind="clock_skew", node="n1", rate=1.5)
    clock_fault(rows, 6000, 6500, kind="clock_strobe", node="n2", by_ms=100.0, period_ms=200.0)
    found = as_set(rows.ops, 8 * S)
    assert found["n1"] == [
        (0, 0.0), (1 * S, 0.0), (1 * S, -0.5), (2 * S, -0.5), (2 * S, 0.0),
        (3 * S, 0.0), (3 * S, 0.0), (5 * S, 1.0), (5 * S, 0.0), (8 * S, 0.0),
    ]  # fmt: skip
    assert [ahead for _, ahead in found["n2"]] == pytest.approx(
        [0.0, 0.0, 0.1, 0.1, 0.0, 0.0, 0.1, 0.1, 0.0, 0.0]
    )


def test_a_clock_that_missed_was_not_set_and_one_that_stays_is_struck_again() -> None:
    rows = Rows()
    missed = {"kind": "clock_jump", "name": "clock 1/n3", "node": "n3", "by_ms": 1000.0}
    rows.row(0, NEMESIS, "info", "start-clock", missed)
    rows.row(0, NEMESIS, "info", "start-clock", {"fault": "clock 1/n3", "missed": "it did not"})
    stays = {"kind": "clock_jump", "name": "clock 2/n1", "node": "n1", "by_ms": 1000.0}
    rows.row(500, NEMESIS, "info", "start-clock", stays)
    rows.row(500, NEMESIS, "info", "start-clock", {"fault": "clock 2/n1", "proof": "it moved"})
    clock_fault(rows, 1000, 2000, kind="clock_jump", node="n2", by_ms=-500.0)
    found = as_set(rows.ops, 3 * S)
    assert set(found) == {"n1", "n2"}
    assert found["n1"][-1] == (3 * S, 1.0)


def sends(rows: Rows, key: str, *at_ms: float) -> None:
    for offset, ms in enumerate(at_ms):
        rows.send(ms, len(rows.ops) + offset, ms, offset, key)


def test_a_fault_is_felt_until_every_partition_acknowledges_again() -> None:
    rows = Rows()
    sends(rows, "busy-0", *range(0, 10_000, 100))
    sends(rows, "hurt-0", 0, 500, 1900, 4400, 5000, 9900)
    sends(rows, "calm-0", *range(50, 9900, 100))
    in_order = sorted(rows.ops, key=lambda op: (op.time_ns, op.index))
    calls = Calls(History.of([replace(op, index=at) for at, op in enumerate(in_order)]))
    struck = [
        Band("kill 1", "kill n1", 2 * S, 3 * S, has_taken_hold=True, kind="kill"),
        Band("kill 2", "kill n2", 4 * S + S // 2, 4 * S + S // 2 + 1, has_taken_hold=True,
             kind="kill"),
        Band("pause 3", "pause n2", 4 * S, 4 * S + 1, kind="pause"),
    ]  # fmt: skip
    assert recoveries(calls, struck) == [2.5, 0.6, 2.5]
    assert by_kind(struck, [2.5, 0.6, 2.5]) == {"kill": (1.55, 2.5, 2)}


def test_where_nothing_was_acknowledged_nobody_knows_when_it_recovered() -> None:
    rows = Rows()
    rows.row(0, 0, "invoke", "send", [["send", KEY, 1]])
    band = Band("kill 1", "kill n1", 0, S, has_taken_hold=True)
    assert recoveries(Calls(History.of(rows.ops)), [band]) == [None]


def test_the_plots_are_as_they_were_agreed_on(tmp_path: Path) -> None:
    """Byte for byte, as the drawing library of requirements.lock has them.

    But for the clouds: they are pictures, whose bytes are those of a compressor's version.
    UPDATE_GOLDEN=1 writes them anew; look at them in a browser then.
    """
    drawn = re.sub(r"base64,[^\"]+", "base64,...", load(lost_write(tmp_path)).plots)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(drawn, encoding="utf-8")
    assert drawn == GOLDEN.read_text(encoding="utf-8")


def test_every_plot_has_the_faults_behind_it_and_the_same_axis(tmp_path: Path) -> None:
    drawn = load(lost_write(tmp_path)).plots
    titles = re.findall(r"<text [^>]*>([a-z][^<]*)</text>", drawn)
    for words in ("latency", "operations a second", "unread", "lag", "who leads",
                  "replicas out of sync", "clocks"):  # fmt: skip
        assert any(title.startswith(words) for title in titles), words
    assert drawn.count("var(--band)") == 7
