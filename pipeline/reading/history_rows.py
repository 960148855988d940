"""Rows of the tables operations and elements from the columns of a history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import Columns, ops_from
from harness.history import schema
from harness.history.tables import Tables
from pipeline.reading.speakers import NoHistory, Speakers, no_elements
from pipeline.schema import DATED

ROWS_AT_ONCE: Final = 1 << 17
"""Rows in one batch on the way to Spark."""

_Ints = npt.NDArray[np.integer[Any]]


class Pairs:
    """For each row of a part of a history its partner, and the latency of its operation."""

    def __init__(self, ops: pa.Table, first_row: int = 0) -> None:
        self._times = ops["time"].to_numpy()
        nothing = no_elements()
        partner = Columns(NoHistory(), ops=ops_from(ops), elements=nothing).partner
        self.partner: _Ints = np.where(partner < 0, np.int64(-1), partner + np.int64(first_row))
        completed = (partner >= 0) & (partner < np.arange(len(partner)))
        begun = self._times[np.maximum(partner, 0)]
        self.latency_ns: _Ints = np.where(completed, self._times - begun, np.int64(-1))

    def link(self, row: int, partner: int, began_ns: int | None) -> None:
        """Pair `row` with a row of another part; `began_ns` is given if `row` is a completion."""
        self.partner[row] = partner
        if began_ns is not None:
            self.latency_ns[row] = self._times[row] - began_ns


def operations(
    run: str, day: date, ops: pa.Table, pairs: Pairs, first_row: int = 0
) -> Iterator[pa.RecordBatch]:
    count = len(ops)
    columns = {
        "row": np.arange(first_row, first_row + count, dtype=np.int32),
        "index": ops["index"],
        "time_ns": ops["time"],
        "process": ops["process"],
        "type": ops["type"],
        "f": ops["f"],
        "error": ops["error"],
        "node": ops["node"],
        "partner": _known(pairs.partner, pa.int32()),
        "latency_ns": _known(pairs.latency_ns, pa.int64()),
    }
    return batches("operations", run, day, columns, count)


def elements(
    run: str,
    day: date,
    part: pa.Table,
    keys: pa.ChunkedArray,
    values: pa.ChunkedArray,
    speakers: Speakers,
    *,
    first: int = 0,
    first_value: int = 0,
) -> Iterator[pa.RecordBatch]:
    """`values` begin with the one whose number is `first_value`."""
    count = len(part)
    boxed, value, op = part["boxed"], part["value"], part["op"].to_numpy()
    numbers = pc.subtract(pc.if_else(boxed, value, None), first_value)
    has_texts = numbers.null_count < count
    stamps = (
        part[schema.TIMESTAMP.name]
        if schema.TIMESTAMP.name in part.column_names
        else pa.nulls(count, pa.int64())
    )
    columns = {
        "number": np.arange(first, first + count, dtype=np.int64),
        "row": part["op"],
        "position": part["position"],
        "kind": part["kind"],
        "key_id": part["key"],
        "key": _words(part["key"], keys),
        "offset": part["offset"],
        "value": value,
        "text": values.take(numbers) if has_texts else pa.nulls(count, pa.string()),
        "timestamp": stamps,
        "process": speakers.process[op],
        "call": speakers.call[op],
        "outcome": speakers.outcome[op],
    }
    return batches("elements", run, day, columns, count)


def batches(
    name: str, run: str, day: date, columns: Mapping[str, Any], count: int
) -> Iterator[pa.RecordBatch]:
    """Batches of a table, with the columns that are equal for all rows of a run.

    Repeated texts are dictionary-encoded.
    """
    shared = {"run": run, "date": day}
    arrays = [
        _repeated(shared[field.name], count, field.type)
        if field.name in shared
        else _column(columns[field.name], field.type)
        for field in DATED[name]
    ]
    names = DATED[name].names
    yield from pa.table(arrays, names=names).to_batches(max_chunksize=ROWS_AT_ONCE)


def whole_operations(run: str, day: date, tables: Tables) -> Iterator[pa.RecordBatch]:
    return operations(run, day, tables.ops, Pairs(tables.ops))


def whole_elements(run: str, day: date, tables: Tables) -> Iterator[pa.RecordBatch]:
    has_elements = np.zeros(len(tables.ops), np.bool_)
    has_elements[tables.elements["op"].to_numpy()] = True
    speakers = Speakers.of(tables.ops, has_elements)
    texts = (tables.keys["json"], tables.values["json"])
    return elements(run, day, tables.elements, *texts, speakers)


def _known(numbers: _Ints, kind: pa.DataType) -> pa.Array:
    return pa.array(numbers, kind, mask=numbers < 0)


def _column(values: Any, kind: pa.DataType) -> Any:
    """A column of this type; dictionary-encoded text stays encoded."""
    if isinstance(values, np.ndarray):
        return pa.array(values, kind)
    is_word = pa.types.is_dictionary(values.type)
    return values if is_word or values.type == kind else values.cast(kind)


def _repeated(value: Any, count: int, kind: pa.DataType) -> Any:
    if not pa.types.is_string(kind):
        return pa.repeat(pa.scalar(value, kind), count)
    codes = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([value], kind))


def _words(codes: pa.ChunkedArray, words: pa.ChunkedArray) -> pa.ChunkedArray:
    names = words.combine_chunks()
    if isinstance(names, pa.ChunkedArray):
        names = pa.concat_arrays(names.chunks) if names.chunks else pa.array([], pa.string())
    used = pc.min_max(codes).as_py()
    if used["max"] is not None and not 0 <= used["min"] <= used["max"] < len(names):
        raise IndexError(f"expected keys from 0 to {len(names) - 1}, found {used['max']}")
    chunks = [pa.DictionaryArray.from_arrays(chunk, names) for chunk in codes.chunks]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))
