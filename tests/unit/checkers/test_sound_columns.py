"""Columns that somebody damaged, or wrote otherwise, are refused before a checker trusts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
import pytest

from checkers.models import LEAN
from checkers.sound import sound_history
from harness.history import kinds
from harness.history.errors import HistoryError
from harness.history.history import History
from harness.history.op import Op
from tests.unit.checkers.stories import polled, sent, told

FINE = told(sent(0, "x", (0, 1), (1, {"a": 2})), polled(1, "x", (0, 1)))


def refusal(path: Path, model: str) -> str:
    with pytest.raises(HistoryError) as caught:
        sound_history(path, model, lean=model in LEAN)
    return str(caught.value)


def changed(column: str, value: int, type_: Any) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        path = directory / "elements.parquet"
        table = pq.read_table(path)
        at = table.schema.names.index(column)
        values = table[column].to_pylist()
        values[0] = value
        pq.write_table(table.set_column(at, column, pa.array(values, type_)), path)

    return change


def replaced(name: str, column: str, values: list[Any], type_: Any) -> Callable[[Path], None]:
    """The whole column of a table, of another type perhaps; as others write it, nullable."""

    def change(directory: Path) -> None:
        path = directory / f"{name}.parquet"
        table = pq.read_table(path)
        at = table.schema.names.index(column)
        pq.write_table(table.set_column(at, column, pa.array(values, type_)), path)

    return change


def end_of_no_log(directory: Path) -> None:
    replaced("elements", "kind", [kinds.HIGH, kinds.RECORD, kinds.RECORD], pa.int8())(directory)
    replaced("elements", "key", [None, 0, 0], pa.int32())(directory)


def boxed_beyond(directory: Path) -> None:
    changed("boxed", True, pa.bool_())(directory)
    changed("value", 9, pa.int64())(directory)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "torn": (
        lambda at: (at / "elements.parquet").write_bytes(b"PAR1"),
        "cannot be read as Parquet",
    ),
    "no ops": (lambda at: (at / "ops.parquet").write_bytes(b""), "cannot be read as Parquet"),
    "op": (changed("op", 77, pa.int32()), "77"),
    "op before all": (changed("op", -1, pa.int32()), "every op in elements from 0"),
    "order": (changed("op", 3, pa.int32()), "in the order of their ops"),
    "kind": (changed("kind", 99, pa.int8()), "every kind in elements from 0"),
    "key": (changed("key", 7, pa.int32()), "every key in elements from -1 to 0, found 0 to 7"),
    "no key": (
        replaced("elements", "key", [None, 0, 0], pa.int32()),
        "operation 1: expected a key for each sent in elements, found none",
    ),
    "end of no log": (end_of_no_log, "expected a key for each high in elements, found none"),
    "index twice": (
        replaced("ops", "index", [0, 1, 1, 2], pa.int64()),
        "ops.parquet, row 2: expected index to be at least 2, found 1",
    ),
    "index reversed": (
        replaced("ops", "index", [3, 2, 1, 0], pa.int64()),
        "ops.parquet, row 1: expected index to be at least 4, found 2",
    ),
    "index below zero": (
        replaced("ops", "index", [-1, 0, 1, 2], pa.int64()),
        "ops.parquet, row 0: expected index to be at least 0, found -1",
    ),
    "no index": (
        replaced("ops", "index", [0, None, 2, 3], pa.int64()),
        "ops.parquet, row 1: expected a value as index, found none",
    ),
    "index as text": (
        replaced("ops", "index", ["0", "1", "2", "3"], pa.string()),
        "ops.parquet: expected int64 as index, found string",
    ),
    "half a process": (
        replaced("ops", "process", [0.5, 0, 1, 1], pa.float64()),
        "ops.parquet: expected int32 as process, found double",
    ),
    "process beyond": (
        replaced("ops", "process", [2**63, 0, 1, 1], pa.uint64()),
        "ops.parquet: expected int32 as process (",
    ),
    "no time": (
        replaced("ops", "time", [0, 1, 2, None], pa.int64()),
        "ops.parquet, row 3: expected a value as time, found none",
    ),
    "no f": (replaced("ops", "f", ["a", None, "a", "a"], pa.string()), "row 1: expected a value"),
    "type": (
        replaced("ops", "type", ["invoke", "ok", "okay", "ok"], pa.string()),
        'ops.parquet, row 2: expected a type of invoke, ok, fail, info, found "okay"',
    ),
    "id": (
        replaced("keys", "id", [5], pa.int32()),
        "keys.parquet, row 0: expected id to be 0, found 5",
    ),
    "no JSON": (replaced("keys", "json", ["x"], pa.string()), 'expected JSON, found "x"'),
    "box": (boxed_beyond, "every boxed value in elements from 0 to 0, found 0 to 9"),
}


@pytest.mark.parametrize("model", ["kafka", "register"])
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_columns_are_refused(tmp_path: Path, name: str, model: str) -> None:
    FINE.write_parquet(tmp_path)
    damage, said = DAMAGE[name]
    damage(tmp_path)
    assert said in refusal(tmp_path, model)


@pytest.mark.parametrize("model", ["kafka", "register"])
def test_a_key_that_has_two_ids_is_refused(tmp_path: Path, model: str) -> None:
    told(sent(0, "x", (0, 1)), polled(1, "y", (0, 1))).write_parquet(tmp_path)
    replaced("keys", "json", ['"x"', '"x"'], pa.string())(tmp_path)
    said = 'keys.parquet, row 1: expected no text twice, found "x" in row 0 as well'
    assert said in refusal(tmp_path, model)


@pytest.mark.parametrize("model", ["kafka", "register"])
def test_other_widths_gaps_and_plain_words_are_let_in(tmp_path: Path, model: str) -> None:
    FINE.write_parquet(tmp_path)
    replaced("ops", "index", [3, 4, 7, 9], pa.int32())(tmp_path)
    replaced("ops", "f", ["send", "send", "poll", "poll"], pa.large_string())(tmp_path)
    replaced("ops", "node", [None] * 4, pa.null())(tmp_path)
    replaced("elements", "position", [0, 1, 0], pa.int64())(tmp_path)
    history = sound_history(tmp_path, model, lean=model in LEAN)
    assert history.op(7).f == "poll"


@pytest.mark.parametrize("model", ["kafka", "list-append", "register"])
def test_what_is_sound_is_let_in(tmp_path: Path, model: str) -> None:
    FINE.write_parquet(tmp_path)
    assert len(sound_history(tmp_path, model, lean=model in LEAN)) == len(FINE)


def test_further_fields_that_are_no_object_are_refused(tmp_path: Path) -> None:
    History.of([Op(0, 0, 0, "ok", "read", 1, extra={"key": 1})]).write_parquet(tmp_path)
    replaced("values", "json", ["[1]"], pa.string())(tmp_path)
    said = "operation 0: expected an object of fields, found [1]"
    assert said in refusal(tmp_path, "register")


@pytest.mark.parametrize("model", ["kafka", "register"])
def test_a_process_below_the_nemesis_is_refused(tmp_path: Path, model: str) -> None:
    FINE.write_parquet(tmp_path)
    path = tmp_path / "ops.parquet"
    table = pq.read_table(path)
    at = table.schema.names.index("process")
    processes = pa.array([-5, *table["process"].to_pylist()[1:]], table["process"].type)
    pq.write_table(table.set_column(at, "process", processes), path)
    assert "every process to be at least -1, the nemesis, found -5" in refusal(tmp_path, model)


@pytest.mark.parametrize("model", ["kafka", "register"])
@pytest.mark.parametrize("name", ["elements", "keys", "values"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str, model: str) -> None:
    FINE.write_parquet(tmp_path)
    path = tmp_path / f"{name}.parquet"
    path.unlink()
    os.mkfifo(path)
    assert refusal(tmp_path, model) == f"{path}: it is no regular file"


@pytest.mark.parametrize("model", ["kafka", "register"])
@pytest.mark.parametrize("name", ["elements", "keys", "ops", "values"])
def test_zeros_in_a_compressed_page_are_refused(tmp_path: Path, name: str, model: str) -> None:
    many = [sent(0, f"topic-{at}", (0, f"value {at}")) for at in range(100)]
    told(*many).write_parquet(tmp_path)
    path = tmp_path / f"{name}.parquet"
    column = pq.read_metadata(path).row_group(0).column(1)
    first = column.dictionary_page_offset or column.data_page_offset
    with path.open("r+b") as file:
        file.seek(first + 60)
        file.write(bytes(64))
    assert f"{path}: it cannot be read as Parquet" in refusal(tmp_path, model)


@pytest.mark.parametrize("model", ["kafka", "register"])
def test_one_bit_of_a_page_is_enough_to_refuse_it(tmp_path: Path, model: str) -> None:
    """Without a checksum it decoded to another offset, and the broker was accused of it."""
    told(*(sent(0, "x", (at, at)) for at in range(2000))).write_parquet(tmp_path)
    path = tmp_path / "elements.parquet"
    group = pq.read_metadata(path).row_group(0)
    names = pq.read_schema(path).names
    column = group.column(names.index("offset"))
    with path.open("r+b") as file:
        file.seek(column.data_page_offset + column.total_compressed_size - 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    assert f"{path}: it cannot be read as Parquet" in refusal(tmp_path, model)
