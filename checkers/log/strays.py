"""Values that several keys have: few, so they alone are told apart and looked at again.

Where numbers of values are given on the way, a value has one number whatever its key. Of one that
turns out to be of several keys the first key keeps the number, and each other gets one of its own,
after all others. What was noted under the old number is forgotten, and the elements that speak of
it are gone through once more. Their keys are doubtful: what slots hold is worked out anew there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.arrays import Ints32, Ints64
from checkers.kernels import fitting, settling
from checkers.kernels.tables import Cells, Places, Rows
from checkers.parts import in_halves

if TYPE_CHECKING:
    from checkers.log.facts import LogFacts

SPARE = 1 << 12
"""Numbers that there is room for."""
_MOST = 1 << 16
"""Elements that are gone through again; with more of them all are numbered before."""


class Told(NamedTuple):
    """What one kernel says of keys, and of values with several slots."""

    doubtful: npt.NDArray[np.bool_]
    moved: Ints64
    counts: Ints64

    @classmethod
    def of(cls, keys: int, cap: int) -> Told:
        counts = np.zeros(5, np.int64)
        return cls(np.zeros(keys, np.bool_), np.empty((cap, 2), np.int64), counts)


class Apart(NamedTuple):
    """Strays as in a numbering, and what was told of them."""

    strays: Ints64
    told: Told


def set_apart(
    facts: LogFacts,
    start: Ints64,
    codes: Ints64,
    table: Ints32,
    held: Ints32,
    bound: Ints32,
) -> Apart | None:
    """`start`: where the slots of each key begin. The columns of `table` are those of Places, the
    last being the first slot that was polled; it has SPARE numbers more than were given. None if
    there are too many."""
    count = table.shape[1] - SPARE
    found = _elements(facts, codes, count)
    if found is None:
        return None
    key = facts.columns.elements.key[found].astype(np.int64)
    number = facts.number[found].astype(np.int64)
    known, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    other = key != key[first][inverse]
    pairs, places = np.unique(key[other] * count + number[other], return_inverse=True)
    if pairs.size > SPARE:
        return None
    number[other] = count + places
    facts.number[found] = number
    table[:, known] = -1
    table[0, known] = key[first]
    table[0, count : count + pairs.size] = pairs // count
    told = _seen_again(facts, start, found, table, held, bound)
    told.doubtful[key] = True
    return Apart(pairs % count, told)


def _elements(facts: LogFacts, codes: Ints64, count: int) -> Ints64 | None:
    """Of all values with these numbers, in their order."""
    number = facts.number
    wanted = np.zeros(count, np.bool_)
    wanted[codes] = True

    def half(low: int, high: int) -> tuple[int, Ints64]:
        found = np.empty(_MOST, np.int64)
        return settling.elements_of(low, high, number, wanted, found), found

    halves = in_halves(number.size, half, size=number.size)
    if any(size > _MOST for size, _ in halves):
        return None
    return np.concatenate([found[:size] for size, found in halves])


def _seen_again(
    facts: LogFacts,
    start: Ints64,
    found: Ints64,
    table: Ints32,
    held: Ints32,
    bound: Ints32,
) -> Told:
    """Kernels as ever, over a history of these elements alone."""
    row, found = _spoken(facts, found)
    rows, begin, size = np.unique(row, return_index=True, return_counts=True)
    numbers, local = np.unique(facts.number[found], return_inverse=True)
    mine = np.full((6, numbers.size), -1, np.int32)
    mine[0] = table[0, numbers]
    of_rows, of_cells = facts.rows, facts.cells
    spans = (begin.astype(np.int64), (begin + size).astype(np.int64))
    plain, every = np.zeros(rows.size, np.bool_), np.arange(rows.size, dtype=np.int32)
    few = Rows._make(
        (*(_like(column, rows) for column in of_rows[:4]), *spans, plain, every, every)
    )
    columns = (_like(column, found) for column in of_cells[:5])
    cells = Cells._make((*columns, local.astype(np.int32)))
    told = Told.of(facts.key_count, 2 * found.size + numbers.size)
    owner, writer, reader, other_reader, first, first_shown = mine
    places = Places(owner, writer, reader, other_reader, first, first)
    common = (every, np.ones(facts.key_count, np.bool_), True, few, cells, facts.shift)
    shown = places._replace(first=first_shown)
    fitting(settling.settle_sends, found.size)(*common, places, *told)
    fitting(settling.settle_polls, found.size)(*common, shown, held, bound, *told)
    settling.bring_together(True, start, places, first_shown, held, *told)
    # Rows and elements were counted among these few.
    mine[1] = np.where(mine[1] >= 0, rows[mine[1]], -1) if rows.size else -1
    mine[2:4] = np.where(mine[2:4] >= 0, found[mine[2:4]], -1) if found.size else -1
    table[:, numbers] = mine
    moved = told.moved[: told.counts[settling.MOVED]]
    moved[:, 0] = numbers[moved[:, 0]]
    told.counts[[settling.SENDS, settling.POLLED, settling.PLACED]] = 0
    return told


def _spoken(facts: LogFacts, found: Ints64) -> tuple[Ints64, Ints64]:
    """The completed operations that speak of elements, and those elements, in their order."""
    columns = facts.columns
    row = columns.elements.op[found].astype(np.int64)
    partner = columns.partner[row]
    row = np.where((columns.outcome[row] == 0) & (partner >= 0), partner, row)
    speaks = (columns.outcome[row] > 0) & (facts.begin[row] <= found) & (found < facts.end[row])
    row, found = row[speaks], found[speaks]
    order = np.lexsort((found, row))
    return row[order], found[order]


def _like(column: npt.NDArray[Any], chosen: Ints64) -> Any:
    """Some of a column, as writable as it is: kernels are compiled once."""
    some = column[chosen]
    some.flags.writeable = column.flags.writeable
    return some
