"""One log per key, put together from what producers were told and consumers were shown.

Elements are sends (1) and polls (2) of completed operations, in the order of the history; the
elements of operation `op` are begin[op] to end[op]. A value has one number per key. A slot is an
offset of a key: `start[key] + offset`, offsets counted from the key's first.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints8, Ints32, Ints64
from checkers.kernels import array_kernel, kernel
from checkers.kernels.survey import role_of
from checkers.kernels.tables import Cells, Rows


@kernel
def commitments(rows: Rows, cells: Cells, reader: Ints32, committed: Ints8) -> None:
    """1 where an operation certainly took effect: it is ok, or a value of its was polled."""
    outcome = rows.outcome
    for op in range(outcome.size):
        if outcome[op] == 1:
            committed[op] = 1
        elif outcome[op] == 2:
            for element in range(rows.begin[op], rows.end[op]):
                value = cells.number[element]
                if role_of(cells.kind[element]) == 1 and value >= 0 and reader[value] >= 0:
                    committed[op] = 1
                    break


@array_kernel
def elements_at(
    outcome: Ints8,
    committed: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    number: Ints32,
    start: Ints64,
    chosen: Ints8,
    by_value: bool,
    things: int,
    cap: int,
) -> tuple[Ints32, Ints64, Ints32]:
    """Operations and elements that are the first to say what the chosen slots hold, or where the
    chosen values are. Things are chosen by numbers from 1; for each, `cap` places are kept."""
    ops = np.empty((things, cap), np.int32)
    elements = np.empty((things, cap), np.int64)
    count = np.zeros(things, np.int32)
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        for element in range(begin[op], end[op]):
            value, at = number[element], offset[element]
            if value < 0 or at < 0 or (kind[element] == 1 and not committed[op]):
                continue
            thing = (chosen[value] if by_value else chosen[start[key[element]] + at]) - 1
            if thing < 0 or count[thing] == cap:
                continue
            known = False
            for place in range(count[thing]):
                other = elements[thing, place]
                known |= number[other] == value and offset[other] == at
            if not known:
                ops[thing, count[thing]] = op
                elements[thing, count[thing]] = element
                count[thing] += 1
    return ops.ravel(), elements.ravel(), count


@array_kernel
def own_reads(
    outcome: Ints8, begin: Ints64, end: Ints64, kind: Ints8, number: Ints32, cap: int
) -> tuple[int, int, Ints64]:
    """Polled elements whose value the same operation sends, one for each operation; and how many
    operations both send and poll."""
    found, count, both = np.empty(cap, np.int64), 0, 0
    for op in range(outcome.size):
        if outcome[op] == 0 or end[op] - begin[op] < 2:
            continue
        sends, polls, own = 0, 0, -1
        for element in range(begin[op], end[op]):
            sends += kind[element] == 1
            polls += kind[element] == 2
        if not sends or not polls:
            continue
        both += 1
        for element in range(begin[op], end[op]):
            if kind[element] == 2 and number[element] >= 0 and own < 0:
                for other in range(begin[op], end[op]):
                    if kind[other] == 1 and number[other] == number[element]:
                        own = element
        if own >= 0:
            if count < cap:
                found[count] = own
            count += 1
    return both, count, found[: min(count, cap)]


@array_kernel
def reads_before_sends(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    number: Ints32,
    writer: Ints32,
    call: Ints32,
    cap: int,
) -> tuple[int, int, Ints64]:
    """Polled elements of ok operations that ended before the value's sender began."""
    found, count, reads = np.empty(cap, np.int64), 0, 0
    for op in range(outcome.size):
        if outcome[op] != 1:
            continue
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != 2 or value < 0 or writer[value] < 0:
                continue
            reads += 1
            if call[writer[value]] > op:
                if count < cap:
                    found[count] = element
                count += 1
    return reads, count, found[: min(count, cap)]


@array_kernel
def edges_of_reads(
    outcome: Ints8, begin: Ints64, end: Ints64, kind: Ints8, number: Ints32, writer: Ints32
) -> tuple[Ints32, Ints32, Ints32]:
    """From senders to those who polled them, once for records of one sender in a row."""
    count = 0
    for op in range(outcome.size):
        if outcome[op]:
            for element in range(begin[op], end[op]):
                count += kind[element] == 2
    source = np.empty(count, np.int32)
    target = np.empty(count, np.int32)
    value_of = np.empty(count, np.int32)
    count = 0
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        before = -1
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != 2 or value < 0 or writer[value] < 0 or writer[value] == before:
                continue
            before = writer[value]
            source[count], target[count], value_of[count] = before, op, value
            count += 1
    return source[:count], target[:count], value_of[:count]
