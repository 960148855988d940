"""Who read whose writes, among few of many operations."""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints32
from checkers.kernels import array_kernel
from checkers.kernels.tables import Cells, Rows
from harness.history.kinds import RECORD


@array_kernel
def reads_touching(
    about: Ints32, rows: Rows, cells: Cells, writer: Ints32, chosen: Bools
) -> tuple[Ints32, Ints32, Ints32]:
    """Senders, those who polled them, and the values: where one of the two is chosen. Once for
    records of one sender in a row."""
    begin, end, kind, number = rows.begin, rows.end, cells.kind, cells.number
    count, room = 0, 1024
    source, target, value_of = (
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    )  # fmt: skip
    for op in about:
        before = -1
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != RECORD or value < 0 or writer[value] == before:
                continue
            before = writer[value]
            if before < 0 or not (chosen[op] or chosen[before]):
                continue
            if count == room:
                room *= 2
                source = np.concatenate((source, np.empty(count, np.int32)))
                target = np.concatenate((target, np.empty(count, np.int32)))
                value_of = np.concatenate((value_of, np.empty(count, np.int32)))
            source[count], target[count], value_of[count] = before, op, value
            count += 1
    return source[:count], target[:count], value_of[:count]
