"""Who wrote each value, who was shown it, and where it is, as each operation tells of it."""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import inner_kernel, kernel
from checkers.kernels.survey import place_in, role_of
from checkers.kernels.tables import Cells, Places, Rows
from harness.history.kinds import RECORD

SENDS, POLLED, PLACED, STRAYS, MOVED = 0, 1, 2, 3, 4
"""What is counted."""


@inner_kernel
def move(code: np.int64, slot: np.int64, moved: Ints64, counts: Ints64) -> None:
    """A value has yet another slot; -1, if it may be of several keys."""
    if counts[MOVED] < moved.shape[0]:
        moved[counts[MOVED], 0] = code
        moved[counts[MOVED], 1] = slot
    counts[MOVED] += 1


@kernel
def settle_sends(
    about: Ints32,
    chosen: Bools,
    owned: bool,
    rows: Rows,
    cells: Cells,
    shift: Ints64,
    places: Places,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """Values of the chosen keys as far as sends tell of them: their key, unless it is known whose
    they are, who wrote them, and where."""
    owner, writer, first = places.owner, places.writer, places.first
    for op in about:
        how = rows.outcome[op]
        for element in range(rows.begin[op], rows.end[op]):
            mine = cells.key[element]
            if role_of(cells.kind[element]) != 1 or not cells.told[element] or not chosen[mine]:
                continue
            code = np.int64(cells.number[element])
            if not owned and owner[code] != mine:
                if owner[code] >= 0:
                    counts[STRAYS] += 1
                    move(code, np.int64(-1), moved, counts)
                owner[code] = mine
            # ok beats info beats fail; among equals the last is as good as any.
            if writer[code] < 0 or rows.outcome[writer[code]] >= how:
                writer[code] = op
            if how != 1:
                continue
            counts[SENDS] += 1
            if cells.offset[element] < 0:
                doubtful[mine] = True
                continue
            slot = shift[mine] + cells.offset[element]
            if first[code] < 0:
                first[code] = slot
            elif first[code] != slot:
                move(code, slot, moved, counts)


@kernel
def settle_polls(
    about: Ints32,
    chosen: Bools,
    owned: bool,
    rows: Rows,
    cells: Cells,
    shift: Ints64,
    places: Places,
    held: Ints32,
    bound: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """As settle_sends, of polls; what they show is what slots hold. Those that are ok bound what
    must have been read of each key. The slot says the key, if there is one."""
    reader, first = places.reader, places.first
    for op in about:
        how = rows.outcome[op]
        for element in range(rows.begin[op], rows.end[op]):
            mine = cells.key[element]
            if cells.kind[element] != RECORD or not cells.told[element] or not chosen[mine]:
                continue
            code = np.int64(cells.number[element])
            counts[POLLED] += how == 1
            if how != 1:
                if places.other_reader[code] < 0:
                    places.other_reader[code] = element
            elif reader[code] < 0:
                reader[code] = element
            if cells.offset[element] < 0:
                doubtful[mine] = True
                if not owned:
                    counts[STRAYS] += 1
                    move(code, np.int64(-1), moved, counts)
                continue
            counts[PLACED] += rows.type[op] != 0
            slot = shift[mine] + cells.offset[element]
            if slot > bound[mine] and how == 1:
                bound[mine] = slot
            if first[code] < 0:
                first[code] = slot
                doubtful[mine] |= held[slot] >= 0
                held[slot] = code
            elif first[code] != slot:
                move(code, slot, moved, counts)


@kernel
def elements_of(low: int, high: int, number: Ints32, wanted: Bools, found: Ints64) -> int:
    """Elements of the wanted values; of as many as there are, those that there is room for."""
    count = 0
    for element in range(low, high):
        if number[element] >= 0 and wanted[number[element]]:
            if count < found.size:
                found[count] = element
            count += 1
    return count


@kernel
def bring_together(
    owned: bool,
    start: Ints64,
    places: Places,
    shown_first: Ints32,
    held: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """What sends and polls tell of each value, and what nobody polled in the slots where it is."""
    owner, first = places.owner, places.first
    for value in range(owner.size):
        shown, sent = shown_first[value], first[value]
        if shown == sent:
            continue
        if sent < 0:
            first[value] = shown
            if not owned:
                key = place_in(start, shown)
                if owner[value] >= 0 and owner[value] != key:
                    counts[STRAYS] += 1
                    move(np.int64(value), np.int64(-1), moved, counts)
                owner[value] = key
        elif shown >= 0:
            move(np.int64(value), np.int64(shown), moved, counts)
        elif held[sent] < 0:
            held[sent] = value
        else:
            doubtful[owner[value]] = True


@kernel
def place_unsure(
    unsure: Ints32,
    begin: Ints64,
    end: Ints64,
    cells: Cells,
    committed: Ints8,
    shift: Ints64,
    places: Places,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """Sends that took effect though nobody said so, as far as they were told an offset."""
    first, number, offset = places.first, cells.number, cells.offset
    for op in unsure:
        if not committed[op]:
            continue
        for element in range(begin[op], end[op]):
            if role_of(cells.kind[element]) == 1 and number[element] >= 0 and offset[element] >= 0:
                slot, code = shift[cells.key[element]] + offset[element], number[element]
                doubtful[cells.key[element]] = True
                if first[code] < 0:
                    first[code] = slot
                elif first[code] != slot:
                    move(np.int64(code), np.int64(slot), moved, counts)
