"""One log per key, put together from what producers were told and consumers were shown.

Elements are sends (1) and polls (2) of completed operations, in the order of the history; the
elements of operation `op` are begin[op] to end[op]. A value has one number per key. A slot is an
offset of a key: `start[key] + offset`, offsets counted from the key's first.
"""

from __future__ import annotations

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import kernel
from checkers.kernels.survey import role_of
from checkers.kernels.tables import Cells, Rows
from harness.history.kinds import RECORD


@kernel
def commit_unsure(
    unsure: Ints32, begin: Ints64, end: Ints64, cells: Cells, reader: Ints32, committed: Ints8
) -> None:
    """Operations of unknown outcome certainly took effect if a value of theirs was polled."""
    for op in unsure:
        for element in range(begin[op], end[op]):
            value = cells.number[element]
            if role_of(cells.kind[element]) == 1 and value >= 0 and reader[value] >= 0:
                committed[op] = 1
                break


@kernel
def rows_about(wanted: Bools, rows: Rows, key: Ints32, found: Ints32) -> int:
    """Completed operations that may speak of the wanted keys: plain ones speak of one key only.
    Returns how many; for one more there is room."""
    count = 0
    for op in range(rows.outcome.size):
        found[count] = op
        count += rows.outcome[op] > 0 and (not rows.plain[op] or wanted[key[rows.begin[op]]])
    return count


@kernel
def elements_at(
    about: Ints32,
    begin: Ints64,
    end: Ints64,
    cells: Cells,
    committed: Ints8,
    shift: Ints64,
    chosen: Ints8,
    by_value: bool,
    ops: Ints32,
    elements: Ints64,
    counts: Ints32,
) -> None:
    """Operations and elements that are the first to say what the chosen slots hold, or where the
    chosen values are. Things are chosen by numbers from 1; each has a row of `ops` and `elements`,
    with so many places."""
    for op in about:
        for element in range(begin[op], end[op]):
            value, at = cells.number[element], cells.offset[element]
            if value < 0 or at < 0 or (role_of(cells.kind[element]) == 1 and not committed[op]):
                continue
            thing = (chosen[value] if by_value else chosen[shift[cells.key[element]] + at]) - 1
            if thing < 0 or counts[thing] == ops.shape[1]:
                continue
            known = False
            for place in range(counts[thing]):
                other = elements[thing, place]
                known |= cells.number[other] == value and cells.offset[other] == at
            if not known:
                ops[thing, counts[thing]] = op
                elements[thing, counts[thing]] = element
                counts[thing] += 1


@kernel
def own_reads(mixed: Ints32, begin: Ints64, end: Ints64, cells: Cells, found: Ints64) -> int:
    """Polled elements whose value the same operation sends, one for each. Returns how many."""
    count = 0
    for op in mixed:
        own = -1
        for element in range(begin[op], end[op]):
            if cells.kind[element] == RECORD and cells.number[element] >= 0 and own < 0:
                for other in range(begin[op], end[op]):
                    is_sent = role_of(cells.kind[other]) == 1
                    if is_sent and cells.number[other] == cells.number[element]:
                        own = element
        if own >= 0:
            if count < found.size:
                found[count] = own
            count += 1
    return count


@kernel
def reads_before_sends(
    about: Ints32,
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    cells: Cells,
    writer: Ints32,
    call: Ints32,
    found: Ints64,
) -> int:
    """Polled elements of ok operations that ended before the value's sender began."""
    count = 0
    for op in about:
        if outcome[op] != 1:
            continue
        for element in range(begin[op], end[op]):
            value = cells.number[element]
            if cells.kind[element] != RECORD or value < 0 or writer[value] < 0:
                continue
            if call[writer[value]] > op:
                if count < found.size:
                    found[count] = element
                count += 1
    return count


@kernel
def edges_of_reads(
    pollers: Ints32,
    begin: Ints64,
    end: Ints64,
    cells: Cells,
    writer: Ints32,
    source: Ints32,
    target: Ints32,
    value_of: Ints32,
) -> int:
    """From senders to those who polled them, once for records of one sender in a row. Returns how
    many."""
    kind, number = cells.kind, cells.number
    count = 0
    for op in pollers:
        before = -1
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != RECORD or value < 0 or writer[value] < 0 or writer[value] == before:
                continue
            before = writer[value]
            source[count], target[count], value_of[count] = before, op, value
            count += 1
    return count
