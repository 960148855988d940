"""Where a history is looked for, and what is said if it is not there."""

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.history import schema
from harness.history.errors import HistoryError
from harness.history.history import History, finish
from harness.history.jsonl import write_jsonl
from harness.history.op import Op
from harness.history.recorder import Recorder

OPS = [
    Op(0, 10, 0, "invoke", "send", [["send", "t-0", 1]], node="n1"),
    Op(1, 20, 0, "ok", "send", [["send", "t-0", [0, 1]], ["send", "t-1", "text"]]),
    Op(2, 30, 1, "fail", "poll", [["poll", {"t-0": [[0, 1]]}]], "E: why"),
    Op(3, 40, 1, "info", "crash"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with Recorder(tmp_path / "history") as recorder:
        for op in OPS:
            recorder.record(op.time_ns, op.process, op.type, op.f, op.value, op.error, op.node)
    return tmp_path


def test_it_is_found_in_a_run_by_any_name(run: Path) -> None:
    assert list(History.load(run)) == OPS
    assert list(History.load(run / "history")) == OPS
    finish(run / "history")
    assert list(History.load(run)) == OPS
    assert list(History.load(run / "history.parquet")) == OPS
    write_jsonl(History.load(run), run / "history.jsonl")
    assert list(History.load(run / "history.jsonl")) == OPS


def test_parquet_holds_the_same_tables_as_the_chunks(run: Path) -> None:
    from_chunks = History.load(run)
    finish(run / "history")
    from_parquet = History.load(run)
    for one, other in zip(from_chunks.tables, from_parquet.tables, strict=True):
        assert one.schema.equals(other.schema)
        assert one.equals(other)


def test_the_columns_are_as_narrow_as_promised(run: Path) -> None:
    finish(run / "history")
    history = History.load(run)
    assert history.ops.schema.equals(schema.OPS)
    assert history.elements.schema.equals(schema.ELEMENTS)
    codes = history.ops["type"].combine_chunks().indices.to_pylist()
    assert codes == [schema.INVOKE, schema.OK, schema.FAIL, schema.INFO]
    assert list(history.keys) == ["t-0", "t-1"]
    assert list(history.values) == ["text"]
    assert list(history.values[0:1]) == ["text"]


def test_parquet_is_written_anew(run: Path) -> None:
    (run / "history.parquet").mkdir()
    (run / "history.parquet" / "ops.parquet").write_bytes(b"half")
    finish(run / "history")
    assert list(History.load(run)) == OPS
    assert sorted(path.name for path in run.iterdir()) == ["history", "history.parquet"]


def test_one_operation_by_its_index() -> None:
    history = History.of([OPS[0], Op(7, 20, 0, "ok", "send", [["send", "t-0", [0, 1]]])])
    assert history.op(7).value == [["send", "t-0", [0, 1]]]
    assert history.op(0) == OPS[0]
    for index in (1, 8, -1):
        with pytest.raises(IndexError):
            history.op(index)


def test_no_operations_are_a_history(tmp_path: Path) -> None:
    history = History.of([])
    assert list(history) == []
    assert len(history) == 0
    history.write_parquet(tmp_path / "history.parquet")
    assert list(History.load(tmp_path)) == []


def test_a_place_without_a_history_is_told(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="in this directory; name the directory of a run"):
        History.load(tmp_path)
    with pytest.raises(HistoryError, match="no history is here"):
        History.load(tmp_path / "none")
    (tmp_path / "file.txt").write_text("{}")
    with pytest.raises(HistoryError, match="this is no history"):
        History.load(tmp_path / "file.txt")
    with pytest.raises(HistoryError, match="no history is here"):
        History.load(tmp_path / "history.edn")


def test_parquet_that_is_broken_is_told(run: Path) -> None:
    finish(run / "history")
    path = run / "history.parquet" / "elements.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(HistoryError, match=r"elements\.parquet: it cannot be read as Parquet"):
        History.load(run)
    path.unlink()
    with pytest.raises(HistoryError, match=r"elements\.parquet"):
        History.load(run)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(HistoryError, match="columns"):
        History.load(run)
    pq.write_table(pa.table({"x": [1]}), run / "history.parquet" / "ops.parquet")
    with pytest.raises(HistoryError, match="columns"):
        History.load(run)
