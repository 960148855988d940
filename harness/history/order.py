"""The order of a history: by time, invocations first, then as recorded; a process keeps its own.

Everything is done on whole columns: histories of ten million rows are ordered in a second or two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.tables import Tables, with_words

_Ints = npt.NDArray[np.integer[Any]]


def in_order(tables: Tables) -> Tables:
    """Rows in their order and numbered from 0, elements in the order of their rows."""
    ops, elements = tables.ops, tables.elements.combine_chunks()
    types = ops["type"].combine_chunks().indices.to_numpy()
    order = order_of(ops["time"].to_numpy(), ops["process"].to_numpy(), types)
    if order is not None:
        ops = with_words(ops.take(pa.array(order)))
        elements = _follow(elements, order)
    numbers = pa.array(np.arange(len(ops), dtype=np.int64))
    ops = ops.set_column(0, schema.OPS.field("index"), numbers)
    return tables._replace(ops=ops, elements=elements)


def order_of(times: _Ints, processes: _Ints, types: _Ints) -> _Ints | None:
    """The numbers of the rows in their order; None if they are in it already."""
    count = len(times)
    order = np.arange(count, dtype=np.int64)
    if not (times[1:] >= times[:-1]).all():
        order = np.argsort(times, kind="stable")
        times = times[order]
    same = times[1:] == times[:-1]
    if same.any():
        tied = np.zeros(count, dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        places = np.flatnonzero(tied)
        rows = order[places]
        turns = _turns(times[places], processes[rows], types[rows] != schema.INVOKE)
        # The sort is stable, so rows that differ in nothing stay as they were recorded.
        order[places] = rows[np.lexsort((turns, times[places]))]
    return None if (order[1:] > order[:-1]).all() else order


def _turns(times: _Ints, processes: _Ints, completed: npt.NDArray[np.bool_]) -> _Ints:
    """Sorting by them puts invocations before completions, but keeps each process's own order.

    At one nanosecond a process may complete one operation and invoke the next. Its rows are given
    growing numbers, even ones for invocations and odd ones for completions.
    """
    by_process = np.lexsort((processes, times))
    times, processes = times[by_process], processes[by_process]
    done = completed[by_process].astype(np.int64)
    begins = np.ones(len(done), dtype=bool)
    begins[1:] = (times[1:] != times[:-1]) | (processes[1:] != processes[:-1])
    changes = np.zeros(len(done), dtype=np.int64)
    changes[1:] = done[1:] != done[:-1]
    counted = np.cumsum(changes)
    first = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    turns = np.empty(len(done), dtype=np.int64)
    turns[by_process] = (counted - counted[first][group]) + done[first][group]
    return turns


def _follow(elements: pa.Table, order: _Ints) -> pa.Table:
    """Elements numbered as their rows are now, and moved with them."""
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    op = places[elements["op"].to_numpy()]
    elements = elements.set_column(0, schema.ELEMENTS.field("op"), pa.array(op))
    if (op[1:] >= op[:-1]).all():
        return elements
    return elements.take(pa.array(np.argsort(op, kind="stable"))).combine_chunks()
