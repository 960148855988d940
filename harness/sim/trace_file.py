"""The trace as a file: Arrow's IPC format, one row per event, texts as dictionaries.

Apart from trace.py, because pyarrow takes longer to import than many a run takes.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from harness.sim.trace import ABSENT, NUMBER_COLUMNS, TEXT_COLUMNS, Columns, Row, Trace

_NEVER_ABSENT = ("cause", "time_ns")


def write_trace(trace: Trace, path: Path) -> None:
    """Nothing is left of it if there is no room for all of it."""
    table = table_of(trace.columns())
    try:
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def read_trace(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def table_of(columns: Columns) -> pa.Table:
    texts = pa.array(columns.texts, pa.string())
    made = {"id": pa.array(range(1, columns.count + 1), pa.int64())}
    for name in Row._fields[1:]:
        if name in TEXT_COLUMNS:
            made[name] = _texts(columns.codes[name], texts)
        else:
            assert name in NUMBER_COLUMNS
            made[name] = _numbers(columns.numbers[name], name in _NEVER_ABSENT)
    return pa.table(made)


def _texts(codes: array[int], texts: pa.Array) -> pa.Array:
    """An empty text, the first of them all, is none."""
    indices = pa.Array.from_buffers(pa.int32(), len(codes), [None, pa.py_buffer(codes)])
    present = pc.if_else(pc.not_equal(indices, 0), indices, None)
    return pa.DictionaryArray.from_arrays(present, texts)


def _numbers(values: array[int], is_complete: bool) -> pa.Array:
    numbers = pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
    if is_complete:
        return numbers
    return pc.if_else(pc.not_equal(numbers, ABSENT), numbers, None)
