"""Builds histories, in the form that checkers read, from rows of the lake."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.history import History
from harness.history.tables import Tables, with_words, without_blanks

OPERATION_COLUMNS: Final = ("row", "index", "time_ns", "process", "type", "f", "error", "node")
ELEMENT_COLUMNS: Final = (
    *("row", "number", "position", "kind", "key_id", "key", "offset", "value", "text"),
    "timestamp",
)


def history_of(operations: pa.Table, elements: pa.Table, *, is_torn: bool) -> History:
    """The history from which ingest made these rows, which may be in any order.

    The rows may be those of a smaller history: elements refer to operations by position, which is
    counted anew, and findings name operations by their index, which stays.
    """
    operations = operations.sort_by("row")
    elements = elements.sort_by("number")
    rows = operations["row"].to_numpy()
    op = np.searchsorted(rows, elements["row"].to_numpy()).astype(np.int32)
    is_boxed = pc.is_valid(elements["text"])
    texts, values = _boxes(elements, is_boxed)
    stamped = pa.table(
        {
            "op": op,
            "position": elements["position"],
            "kind": elements["kind"],
            "key": elements["key_id"],
            "offset": elements["offset"],
            "value": values,
            "boxed": is_boxed,
            "timestamp": elements["timestamp"],
        },
        schema=schema.STAMPED_ELEMENTS,
    )
    ops = pa.table(
        {
            "index": operations["index"],
            "time": operations["time_ns"],
            "process": operations["process"],
            "type": operations["type"].combine_chunks().dictionary_encode(),
            "f": operations["f"].combine_chunks().dictionary_encode(),
            "error": operations["error"],
            "node": operations["node"].combine_chunks().dictionary_encode(),
        }
    )
    tables = Tables(with_words(ops), without_blanks(stamped), _keys(elements), texts)
    return History(tables, is_torn=is_torn)


def _boxes(elements: pa.Table, is_boxed: pa.ChunkedArray) -> tuple[pa.Table, pa.ChunkedArray]:
    """The table of texts, and the values with their numbers in it.

    Texts keep the order that they have in the run, because findings are in the order of values.
    """
    ids = elements["value"].filter(is_boxed)
    texts = elements["text"].filter(is_boxed)
    if len(ids) == 0:
        return schema.VALUES.empty_table(), elements["value"]
    old, first = np.unique(ids.to_numpy(), return_index=True)
    table = pa.table(
        [pa.array(np.arange(old.size)), texts.take(pa.array(first))], schema=schema.VALUES
    )
    value = elements["value"].fill_null(0).to_numpy().copy()
    boxed = is_boxed.to_numpy()
    value[boxed] = np.searchsorted(old, value[boxed])
    is_null = pc.is_null(elements["value"]).to_numpy()
    return table, pa.chunked_array([pa.array(value, pa.int64(), mask=is_null)])


def _keys(elements: pa.Table) -> pa.Table:
    """The keys by number. A number that no element has gets a blank key, which is never used."""
    named = elements.filter(pc.is_valid(elements["key_id"]))
    ids, first = np.unique(named["key_id"].to_numpy(), return_index=True)
    if ids.size == 0:
        return schema.KEYS.empty_table()
    texts = [f'"?{number}"' for number in range(int(ids[-1]) + 1)]
    for number, text in zip(ids.tolist(), named["key"].take(pa.array(first)).to_pylist(),
                            strict=True):  # fmt: skip
        texts[number] = text
    return pa.table([pa.array(range(len(texts)), pa.int32()), texts], schema=schema.KEYS)
