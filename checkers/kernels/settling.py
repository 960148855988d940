"""Who wrote each value, who was shown it, and where it is, as each operation tells of it.

What is rare is in functions of its own, for a call with so many columns costs more than the rest.
Most operations are plain, and of those hardly more than the values is read.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import inlined, inner_kernel, kernel
from checkers.kernels.survey import place_in, role_of
from checkers.kernels.tables import Cells, Log, Places, Rows
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


@inlined
def number_of(value: int, start: Ints64) -> np.uint64:
    """By the place `start` where each producer's begin. Indices are unsigned where it matters: of
    others it is asked each time whether they count from the end."""
    return np.uint64(start[np.uint64(value) >> np.uint64(32)] + (value & 0xFFFFFFFF))


@kernel
def settle_sends(
    known: bool,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    call: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """Values as far as sends tell of them: their key, who wrote them, and where. Unless numbers are
    `known` they are given here."""
    given = (known, rows, cells, start, shift, places, log, call)
    for op in rows.senders:
        if rows.outcome[op] == 1 and rows.plain[op] and rows.roles[op] == 1 and not known:
            settle_plain_send(op, rows, cells, start, shift, places, log, call, moved, counts)
        else:
            settle_send(op, *given, doubtful, moved, counts)


@inlined
def settle_plain_send(
    op: int,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    call: Ints32,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """One that is ok, and is at one place of one key."""
    owner, writer, first = places.owner, places.writer, places.first
    begin, end = np.uint64(rows.begin[op]), np.uint64(rows.end[op])
    mine = cells.key[begin]
    slot = np.uint64(shift[mine] + cells.offset[begin])
    counts[SENDS] += end - begin
    for element in range(begin, end):
        code = number_of(cells.value[element], start)
        cells.number[element] = code
        if owner[code] != mine:
            if owner[code] >= 0:
                counts[STRAYS] += 1
                move(np.int64(code), np.int64(-1), moved, counts)
            owner[code] = mine
        writer[code] = op
        log.acked[slot], log.called[slot] = op, call[op]
        if first[code] < 0:
            first[code] = slot
        elif first[code] != slot:
            move(np.int64(code), np.int64(slot), moved, counts)
        slot += np.uint64(1)


@inner_kernel
def settle_send(
    op: int,
    known: bool,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    call: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    owner, writer, first, number = places.owner, places.writer, places.first, cells.number
    how = rows.outcome[op]
    for element in range(rows.begin[op], rows.end[op]):
        if role_of(cells.kind[element]) != 1 or not cells.told[element]:
            continue
        code, mine = np.int64(number[element]), cells.key[element]
        if not known:
            code = np.int64(number_of(cells.value[element], start))
            number[element] = code
            if owner[code] != mine:
                if owner[code] >= 0:
                    counts[STRAYS] += 1
                    move(np.int64(code), np.int64(-1), moved, counts)
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
        log.acked[slot], log.called[slot] = op, call[op]
        if first[code] < 0:
            first[code] = slot
        elif first[code] != slot:
            move(np.int64(code), np.int64(slot), moved, counts)


@kernel
def settle_polls(
    known: bool,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    bound: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """As settle_sends, of polls; what they show is what slots hold. Those that are ok bound what
    must have been read of each key. The slot says the key: where there is none, numbers have to be
    known. As long as all polls are ok and say where, whatever has a slot has a reader."""
    all_ok = True
    for op in rows.pollers:
        if rows.outcome[op] == 1 and rows.plain[op] and rows.roles[op] == 2 and not known:
            settle_plain_poll(
                all_ok, op, rows, cells, start, shift, places, log, bound, doubtful, moved, counts
            )
        else:
            told = (bound, doubtful, moved, counts)
            all_ok = settle_poll(all_ok, known, op, rows, cells, start, shift, places, log, *told)


@inlined
def settle_plain_poll(
    all_ok: bool,
    op: int,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    bound: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """One that is ok, of one key, in the order of its log."""
    reader, first, held = places.reader, places.first, log.held
    begin, end = np.uint64(rows.begin[op]), np.uint64(rows.end[op])
    mine = cells.key[begin]
    slot = np.uint64(shift[mine] + cells.offset[begin])
    for element in range(begin, end):
        code = number_of(cells.value[element], start)
        cells.number[element] = code
        if first[code] < 0:
            first[code] = slot
            doubtful[mine] |= held[slot] >= 0
            held[slot], log.shown[slot] = code, op
            if reader[code] < 0:
                reader[code] = element
        else:
            if first[code] != slot:
                move(np.int64(code), np.int64(slot), moved, counts)
            if not all_ok and reader[code] < 0:
                reader[code] = element
        slot += np.uint64(1)
    bound[mine] = max(bound[mine], np.int64(slot) - 1)
    counts[POLLED] += end - begin
    counts[PLACED] += end - begin


@inner_kernel
def settle_poll(
    all_ok: bool,
    known: bool,
    op: int,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    bound: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> bool:
    """Any other. Returns whether all polls so far are ok and say where."""
    reader, first, number = places.reader, places.first, cells.number
    how = rows.outcome[op]
    for element in range(rows.begin[op], rows.end[op]):
        if cells.kind[element] != RECORD or not cells.told[element]:
            continue
        code, mine = np.int64(number[element]), cells.key[element]
        if not known:
            code = np.int64(number_of(cells.value[element], start))
            number[element] = code
        counts[POLLED] += how == 1
        all_ok &= how == 1 and cells.offset[element] >= 0
        if how != 1:
            if places.other_reader[code] < 0:
                places.other_reader[code] = element
        elif (first[code] < 0 or not all_ok) and reader[code] < 0:
            reader[code] = element
        if cells.offset[element] < 0:
            doubtful[mine] = True
            if not known:
                counts[STRAYS] += 1
                move(np.int64(code), np.int64(-1), moved, counts)
            continue
        counts[PLACED] += rows.type[op] != 0
        slot = shift[mine] + cells.offset[element]
        if slot > bound[mine] and how == 1:
            bound[mine] = slot
        if first[code] < 0:
            first[code] = slot
            doubtful[mine] |= log.held[slot] >= 0
            log.held[slot], log.shown[slot] = code, op
        elif first[code] != slot:
            move(np.int64(code), np.int64(slot), moved, counts)
    return all_ok


@kernel
def elements_of(
    low: int,
    high: int,
    kind: Ints8,
    value: Ints64,
    told: Bools,
    start: Ints64,
    wanted: Bools,
    found: Ints64,
) -> int:
    """Elements of the wanted values, sent or polled; of as many as there are, those that there is
    room for."""
    count = 0
    for element in range(low, high):
        if not told[element] or role_of(kind[element]) == 0:
            continue
        if wanted[number_of(value[element], start)]:
            if count < found.size:
                found[count] = element
            count += 1
    return count


@kernel
def bring_together(
    known: bool,
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
            if not known:
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
