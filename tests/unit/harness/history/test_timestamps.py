"""Timestamps beside values: their form, their column, and histories that have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.history import schema
from harness.history.edn import write_edn
from harness.history.errors import HistoryError
from harness.history.flatten import flatten
from harness.history.history import History, finish
from harness.history.jsonl import write_jsonl
from harness.history.op import Op
from harness.history.recorder import Recorder
from harness.history.timestamps import by_element, by_micro_op

POLL = [["poll", {"x": [[0, 1], [1, 2]], "y": [], "z": [[4, 3]]}]]
SENT = [["send", "x", [0, 1]], ["send", "x", 2]]
FITTING: list[tuple[str, Any, list[Any]]] = [
    ("send", SENT, [70, 71]),
    ("send", SENT, [None, 71]),
    ("poll", POLL, [{"x": [70, 70], "z": [0]}]),
    ("poll", POLL, [{"x": [None, None], "z": [5]}]),
    ("txn", [["poll"], ["append", "x", 1], ["r", "x", [1, 2]]], [None, 70, None]),
    ("txn", [["poll", {}], ["put", "x/a", [0, 1]], *POLL], [None, 70, None]),
]
MISFITS: list[Any] = [
    [],
    [70],
    [70, 71, 72],
    [None, None],
    [70, -1],
    [70, True],
    [70, 1 << 63],
    [70, "71"],
    {"x": [70]},
    7,
    "soon",
]
BAD_POLLS: list[Any] = [
    [{}],
    [{"x": [70, 70]}],
    [{"x": [70, 70], "z": [1], "q": [2]}],
    [{"x": [70, 70], "y": [], "z": [1]}],
    [{"x": [70], "z": [1]}],
    [{"x": [70, 70, 70], "z": [1]}],
    [{"x": [None, None], "z": [None]}],
    [[70, 70, 1]],
]


@pytest.mark.parametrize(("f", "value", "timestamps"), FITTING)
def test_timestamps_of_our_form_are_restored(f: str, value: Any, timestamps: list[Any]) -> None:
    elements = flatten(f, value)
    stamps = by_element(elements, timestamps)
    assert stamps is not None
    assert len(stamps) == len(elements)
    assert by_micro_op(elements, stamps) == timestamps
    (row,) = History.of([Op(0, 0, 0, "ok", f, value, timestamps=timestamps, extra={"a": 1})])
    assert (row.value, row.timestamps, row.extra) == (value, timestamps, {"a": 1})


@pytest.mark.parametrize(
    ("value", "timestamps"),
    [*((SENT, each) for each in MISFITS), *((POLL, each) for each in BAD_POLLS), (None, [1])],
)
def test_timestamps_of_another_form_are_kept_as_they_are(value: Any, timestamps: Any) -> None:
    (row,) = History.of([Op(0, 0, 0, "ok", "txn", value, timestamps=timestamps)])
    assert (row.value, row.timestamps, row.extra) == (value, None, {"timestamps": timestamps})


def mixed() -> list[Op]:
    """Rows with and without timestamps, the first and the last without."""
    return [
        Op(0, 0, 0, "invoke", "send", [["send", "x", 1]]),
        Op(1, 1, 0, "ok", "send", [["send", "x", [0, 1]]], timestamps=[70]),
        Op(2, 2, 0, "invoke", "poll", [["poll"]]),
        Op(3, 3, 0, "ok", "poll", POLL, timestamps=[{"x": [70, 71], "z": [9]}]),
        Op(4, 4, 0, "invoke", "send", [["send", "x", 5]]),
    ]


def record(ops: list[Op], directory: Path, flush_every: int) -> None:
    with Recorder(directory) as recorder:
        for op in ops:
            recorder.record(
                *(op.time_ns, op.process, op.type, op.f, op.value),
                *(op.error, op.node, op.extra, op.timestamps),
            )
            if op.index % flush_every == 0:
                recorder.flush()


@pytest.mark.parametrize("flush_every", [1, 2, 100])
def test_timestamps_go_to_disk_and_back(tmp_path: Path, flush_every: int) -> None:
    record(mixed(), tmp_path / "history", flush_every)
    finished = finish(tmp_path / "history")
    loaded = History.load(tmp_path)
    assert list(finished) == list(loaded) == mixed()
    assert loaded.timestamps is not None
    write_jsonl(loaded, tmp_path / "h.jsonl")
    assert list(History.load(tmp_path / "h.jsonl")) == mixed()
    write_edn(loaded, tmp_path / "h.edn")
    assert ":timestamps [70]" in (tmp_path / "h.edn").read_text()
    assert list(History.load(tmp_path / "h.edn")) == mixed()


def test_a_history_without_timestamps_has_no_column_for_them(tmp_path: Path) -> None:
    plain = [op for op in mixed() if op.timestamps is None]
    record(plain, tmp_path / "history", 2)
    finished = finish(tmp_path / "history")
    assert finished.timestamps is None
    for history in (finished, History.load(tmp_path), History.of(plain)):
        assert history.elements.schema.names == schema.ELEMENTS.names
    assert pq.read_schema(tmp_path / "history.parquet" / "elements.parquet").names == (
        schema.ELEMENTS.names
    )


def test_chunks_of_versions_without_timestamps_are_read(tmp_path: Path) -> None:
    plain = [op for op in mixed() if op.timestamps is None]
    record(plain, tmp_path / "history", 1)
    path = tmp_path / "history" / "elements.arrow"
    with pa.OSFile(str(path)) as file:
        batches = list(pa.ipc.open_stream(file))
    fields = schema.OLDER_RECORDED_ELEMENTS
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, fields) as stream:
        for batch in batches:
            stream.write_batch(batch.select(fields.names))
    history = History.load(tmp_path)
    assert not history.is_torn
    assert [op.value for op in history] == [op.value for op in plain]


def test_a_column_of_timestamps_that_others_wrote_may_be_narrow_and_must_be_of_numbers(
    tmp_path: Path,
) -> None:
    History.of(mixed()).write_parquet(tmp_path / "history.parquet")
    path = tmp_path / "history.parquet" / "elements.parquet"
    table = pq.read_table(path)
    at = len(schema.ELEMENTS)
    pq.write_table(table.set_column(at, "timestamp", table["timestamp"].cast(pa.int32())), path)
    assert list(History.load(tmp_path)) == mixed()
    pq.write_table(table.set_column(at, "timestamp", table["timestamp"].cast(pa.string())), path)
    with pytest.raises(HistoryError, match="expected int64 as timestamp, found string"):
        History.load(tmp_path)
    pq.write_table(table.append_column("more", table["op"]), path)
    with pytest.raises(HistoryError, match="expected the columns"):
        History.load(tmp_path)
