"""Ingest into a lake: what is taken, what is left, what is set aside."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
import pytest

from checkers.columns import Columns
from checkers.verdict import Validity
from harness.history.edn import write_edn
from harness.history.history import PARQUET, History, finish
from harness.history.jsonl import write_jsonl
from harness.history.recorder import Recorder
from harness.run.plan import Plan
from harness.store.store import Store
from pipeline.check.job import judge_runs
from pipeline.ingest import Ingested, ingest
from pipeline.lake import Lake
from pipeline.reading import cutting
from pipeline.reading.listing import named
from tests.pipeline.made_store import BEGAN, ops, results, stored_run, write_results

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def taken(lake: Lake, *places: Path, model: str = "kafka") -> Ingested:
    return ingest(lake, named(places), model=model)


def rows(lake: Lake, table: str, *columns: str, order: Sequence[str] = ("run",)) -> list[Any]:
    frame = lake.table(table)
    return [tuple(row) for row in frame.orderBy(*order).select(*columns).collect()]


@pytest.mark.slow
def test_a_store_becomes_rows_and_a_second_ingest_changes_nothing(
    lake: Lake, tmp_path: Path
) -> None:
    runs = [stored_run(tmp_path / "store", number) for number in range(3)]
    done = taken(lake, tmp_path / "store")
    assert len(done.taken) == 3
    assert rows(lake, "runs", "seed", "verdict", "release", "operations", "set_aside") == [
        (seed, "valid", "0123456789ab", 41, 0) for seed in range(3)
    ]
    assert rows(lake, "faults", "outcome", "proof", order=("run", "number"))[:2] == [
        ("held", "it is gone"),
        ("skipped", "no time was left"),
    ]
    assert rows(lake, "cluster", "what", "key") == [("leader", "orders-0")] * 3
    assert rows(lake, "doubts", "kind") == [("too-few-writes",)] * 3
    before = lake.snapshot
    shutil.copytree(tmp_path / "store", tmp_path / "moved", symlinks=True)
    again = taken(lake, tmp_path / "store", tmp_path / "moved")
    assert (len(again.skipped), again.taken, lake.snapshot) == (3, [], before)
    history = History.load(runs[1])
    assert_equal(lake, done.taken[1], history)


def assert_equal(lake: Lake, run: str, history: History) -> None:
    """The lake has every row and element, and pairs them as checkers do."""
    columns = Columns(history)
    found = lake.table("operations").where(f"run = '{run}'").orderBy("row").collect()
    expected = [
        (op.index, op.time_ns, op.process, op.type, op.f, op.error, op.node) for op in history
    ]
    names = ("index", "time_ns", "process", "type", "f", "error", "node")
    assert [tuple(row[name] for name in names) for row in found] == expected
    assert [-1 if row["partner"] is None else row["partner"] for row in found] == list(
        columns.partner
    )
    elements = lake.table("elements").where(f"run = '{run}'").orderBy("number").collect()
    tables = history.tables.elements
    keys = [None if key is None else f'"{history.keys[key]}"' for key in tables["key"].to_pylist()]
    assert [row["key"] for row in elements] == keys
    for name, column in (("row", "op"), ("kind", "kind"), ("offset", "offset"), ("value", "value")):
        assert [row[name] for row in elements] == tables[column].to_pylist()


@pytest.mark.slow
def test_a_run_that_was_judged_again_replaces_its_rows(lake: Lake, tmp_path: Path) -> None:
    directory = stored_run(tmp_path / "store")
    stored_run(tmp_path / "store", 1)
    taken(lake, tmp_path / "store")
    write_results(directory, results(directory, Plan(), Validity.INVALID))
    done = taken(lake, tmp_path / "store")
    assert (len(done.replaced), len(done.skipped)) == (1, 1)
    assert rows(lake, "runs", "seed", "verdict") == [(0, "invalid"), (1, "valid")]
    assert rows(lake, "anomalies", "type", "promise", "ops", order=("number",)) == [
        ("duplicate", "allowed", [5]),
        ("lost-write", "never", [1, 3]),
    ]
    assert lake.table("operations").count() == 2 * 41


@pytest.mark.slow
def test_a_replaced_run_that_the_lake_has_judged_is_there_once(lake: Lake, tmp_path: Path) -> None:
    directory = stored_run(tmp_path / "store")
    taken(lake, tmp_path / "store")
    judge_runs(lake)
    write_results(directory, results(directory, Plan(), Validity.INVALID))
    assert len(taken(lake, tmp_path / "store").replaced) == 1
    judge_runs(lake)
    counts = {
        name: lake.table(name).count() for name in ("runs", "operations", "faults", "cluster")
    }
    assert counts == {"runs": 1, "operations": 41, "faults": 2, "cluster": 1}


@pytest.mark.slow
def test_a_run_under_way_is_left_alone(lake: Lake, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    stored_run(tmp_path / "store", 1)
    directory = store.new_run("queue kill", BEGAN)
    (directory / "plan.json").write_text(Plan().text())
    with Recorder(directory / "history") as recorder:
        recorder.record(1, 0, "invoke", "poll", [["poll"]])
        recorder.flush()
        done = taken(lake, tmp_path / "store")
        assert (done.under_way, len(done.taken)) == ([directory], 1)
    store.end_run(directory)
    assert len(taken(lake, tmp_path / "store").taken) == 1


@pytest.mark.slow
def test_what_is_damaged_is_named_and_the_rest_is_taken(lake: Lake, tmp_path: Path) -> None:
    store = tmp_path / "store"
    whole, cut, unjudged, newer, planless, empty, flipped = (
        stored_run(store, number) for number in range(7)
    )
    elements = cut / PARQUET / "elements.parquet"
    elements.write_bytes(elements.read_bytes()[:-100])
    (unjudged / "results.json").write_text("{")
    (newer / "results.json").write_text('{"schema": 99}')
    (planless / "plan.json").write_text("half of a pl")
    shutil.rmtree(empty / PARQUET)
    flip_a_byte(flipped / PARQUET / "ops.parquet")
    done = taken(lake, store)
    assert rows(lake, "runs", "seed", "verdict") == [(0, "valid"), (2, None), (3, None)]
    assert lake.table("operations").count() == 3 * 41
    by_file = {row["source"]: row["reason"] for row in lake.table("rejected").collect()}
    assert set(by_file) == {
        str(elements),
        str(unjudged / "results.json"),
        str(newer / "results.json"),
        str(planless / "plan.json"),
        str(empty),
        str(flipped / PARQUET / "ops.parquet"),
    }
    assert "this version reads up to" in by_file[str(newer / "results.json")]
    assert set(done.refused) < set(by_file)
    assert len(done.taken) == 3
    before = lake.snapshot
    taken(lake, store)
    assert lake.snapshot == before, "what was set aside is set aside once"
    shutil.copy(whole / PARQUET / "elements.parquet", elements)
    assert len(taken(lake, store).taken) == 1
    assert str(elements) not in {row["source"] for row in lake.table("rejected").collect()}


def flip_a_byte(path: Path) -> None:
    """The last one of the first column's values."""
    column = pq.read_metadata(path).row_group(0).column(0)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 1] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.slow
def test_bad_lines_are_set_aside_and_the_rest_of_the_file_is_taken(
    lake: Lake, tmp_path: Path
) -> None:
    history = History.of(ops())
    write_jsonl(history, tmp_path / "lines.jsonl")
    write_edn(history, tmp_path / "forms.edn")
    for name in ("lines.jsonl", "forms.edn"):
        lines = (tmp_path / name).read_text().splitlines()
        lines[3] = lines[3][:20]
        lines.insert(7, '{"type": "no such type"}' if name == "lines.jsonl" else "{:type :strange}")
        (tmp_path / name).write_text("\n".join(lines))
    done = taken(lake, tmp_path / "lines.jsonl", tmp_path / "forms.edn", model="list-append")
    assert done.set_aside == 4
    assert rows(lake, "runs", "name", "model", "operations", "set_aside") == [
        ("forms", "list-append", 40, 2),
        ("lines", "list-append", 40, 2),
    ]
    assert rows(lake, "rejected", "place", order=("run", "place")) == [
        *(("line 4",), ("line 8",)),
        *(("line 4",), ("line 8",)),
    ]


@pytest.mark.slow
def test_a_run_that_was_killed_has_its_chunks(lake: Lake, tmp_path: Path) -> None:
    directory = stored_run(tmp_path / "store")
    shutil.rmtree(directory / PARQUET)
    (directory / "results.json").unlink()
    recorder = Recorder(directory / "history")
    for op in ops():
        recorder.record(op.time_ns, op.process, op.type, op.f, op.value)
    recorder.flush()
    done = taken(lake, tmp_path / "store")
    assert rows(lake, "runs", "verdict", "torn", "operations") == [(None, True, 41)]
    recorder.close()
    assert_equal(lake, done.taken[0], finish(directory / "history"))


@pytest.mark.slow
def test_a_long_history_is_cut_and_the_cuts_do_not_show(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.history.parquet.ROW_GROUP_ROWS", 60)
    monkeypatch.setattr(cutting, "BYTES_PER_TASK", 1)
    history = History.of([*ops(100, 10)])
    stored_run(tmp_path / "store", history=history)
    done = taken(lake, tmp_path / "store")
    assert_equal(lake, done.taken[0], history)
    files = [*Path(lake.root).glob("operations/batch=*/date=*/*.parquet")]
    assert len(files) == 4
