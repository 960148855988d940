"""Where values are, told by slots alone.

What an operation sends or polls is a stretch of its log, and memory by slot is read and written in
one go, where memory by value is all over the place. As long as each slot has one value and each
value one slot, that is all there is to know; keys for which that may not be are odd, and are gone
through once more, value by value. A value that two keys have makes both of them odd.

A value is nowhere (-1), at a slot, or, if its operation was not ok or not told where, at -2 - the
element that sends it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import inlined, inner_kernel, kernel
from checkers.kernels.fetching import look_ahead
from checkers.kernels.survey import place_in, role_of
from checkers.kernels.tables import Cells, Log, Rows
from harness.history.kinds import RECORD

NOWHERE = -1

SENDS, POLLED, PLACED, STRANGE = 0, 1, 2, 3
"""What is counted."""


@inlined
def number_of(value: int, start: Ints64) -> np.uint64:
    """By the place `start` where each producer's begin. Indices are unsigned where it matters: of
    others it is asked each time whether they count from the end."""
    return np.uint64(start[np.uint64(value) >> np.uint64(32)] + (value & 0xFFFFFFFF))


@inner_kernel
def suspect(place: int, start: Ints64, key: Ints32, odd: Bools) -> None:
    """The key of a slot, or of an element, is odd."""
    if place >= 0:
        odd[place_in(start, place)] = True
    elif place < NOWHERE:
        odd[key[-2 - place]] = True


class Sent(NamedTuple):
    """By slot what was acknowledged there: the value, the operation, and when that was invoked. Of
    slots that have no `sender` the others say nothing."""

    value: Ints32
    sender: Ints32
    called: Ints32


@kernel
def place_sends(
    rows: Rows,
    cells: Cells,
    called: Ints32,
    numbers: Ints64,
    start: Ints64,
    shift: Ints64,
    where: Ints32,
    sent: Sent,
    odd: Bools,
    counts: Ints64,
) -> None:
    """`numbers` and `start`: where those of each producer, and the slots of each key, begin."""
    number = cells.number
    for turn, op in enumerate(rows.senders):
        look_ahead(turn, rows.senders, rows, cells)
        alone = rows.outcome[op] == 1 and rows.plain[op] and rows.roles[op] == 1
        if alone:
            begin, end = np.uint64(rows.begin[op]), np.uint64(rows.end[op])
            mine = cells.key[begin]
            first = np.uint64(shift[mine] + cells.offset[begin])
            slot = first
            for element in range(begin, end):
                code = number_of(cells.value[element], numbers)
                number[element] = code
                alone &= (where[code] == NOWHERE) & (sent.sender[slot] < 0)
                slot += np.uint64(1)
        if alone:
            counts[SENDS] += end - begin
            slot, again = first, False
            for element in range(begin, end):
                code = np.uint64(number[element])
                again |= where[code] != NOWHERE
                where[code] = slot
                sent.value[slot], sent.sender[slot], sent.called[slot] = code, op, called[op]
                slot += np.uint64(1)
            odd[mine] |= again
        else:
            place_send(op, rows, cells, called, numbers, start, shift, where, sent, odd, counts)


@inner_kernel
def place_send(
    op: int,
    rows: Rows,
    cells: Cells,
    called: Ints32,
    numbers: Ints64,
    start: Ints64,
    shift: Ints64,
    where: Ints32,
    sent: Sent,
    odd: Bools,
    counts: Ints64,
) -> None:
    """One that may not be ok, or not plain, or not the only one."""
    ok = rows.outcome[op] == 1
    for element in range(rows.begin[op], rows.end[op]):
        if role_of(cells.kind[element]) != 1 or not cells.told[element]:
            continue
        counts[SENDS] += ok
        mine, at = cells.key[element], cells.offset[element]
        code = number_of(cells.value[element], numbers)
        cells.number[element] = code
        if where[code] != NOWHERE or ok != (at >= 0):
            odd[mine] = True
            suspect(where[code], start, cells.key, odd)
        where[code] = -2 - element
        if ok and at >= 0:
            slot = shift[mine] + at
            odd[mine] |= sent.sender[slot] >= 0
            where[code] = slot
            sent.value[slot], sent.sender[slot], sent.called[slot] = code, op, called[op]


@kernel
def place_polls(
    rows: Rows,
    cells: Cells,
    numbers: Ints64,
    shift: Ints64,
    log: Log,
    bound: Ints32,
    odd: Bools,
    strange: Ints32,
    counts: Ints64,
) -> None:
    """What slots hold is what polls show; -2 - element says who does if that one is not plain. Ok
    polls bound what must have been read of each key. Values that are shown where slots do not say
    so are strange."""
    held, shown = log.held, log.shown
    for turn, op in enumerate(rows.pollers):
        look_ahead(turn, rows.pollers, rows, cells)
        if rows.outcome[op] != 1 or not rows.plain[op] or rows.roles[op] != 2:
            place_poll(op, rows, cells, numbers, shift, log, bound, odd, strange, counts)
            continue
        begin, end = np.uint64(rows.begin[op]), np.uint64(rows.end[op])
        mine = cells.key[begin]
        slot = np.uint64(shift[mine] + cells.offset[begin])
        for element in range(begin, end):
            code = number_of(cells.value[element], numbers)
            cells.number[element] = code
            if held[slot] != code:
                if held[slot] < 0:
                    held[slot], shown[slot] = code, op
                else:
                    odd[mine] = True
                    find_strange(np.int64(code), strange, counts)
            slot += np.uint64(1)
        bound[mine] = max(bound[mine], np.int64(slot) - 1)
        counts[POLLED] += end - begin
        counts[PLACED] += end - begin


@inner_kernel
def find_strange(code: np.int64, strange: Ints32, counts: Ints64) -> None:
    if counts[STRANGE] < strange.size:
        strange[counts[STRANGE]] = code
    counts[STRANGE] += 1


@inner_kernel
def place_poll(
    op: int,
    rows: Rows,
    cells: Cells,
    numbers: Ints64,
    shift: Ints64,
    log: Log,
    bound: Ints32,
    odd: Bools,
    strange: Ints32,
    counts: Ints64,
) -> None:
    """One that may not be ok, or not plain."""
    ok = rows.outcome[op] == 1
    for element in range(rows.begin[op], rows.end[op]):
        if cells.kind[element] != RECORD or not cells.told[element]:
            continue
        mine, at = cells.key[element], cells.offset[element]
        code = np.int64(number_of(cells.value[element], numbers))
        cells.number[element] = code
        counts[POLLED] += ok
        counts[PLACED] += at >= 0 and rows.type[op] != 0
        if not ok or at < 0:
            odd[mine] = True
            find_strange(code, strange, counts)
            continue
        slot = shift[mine] + at
        bound[mine] = max(bound[mine], slot)
        if log.held[slot] < 0:
            log.held[slot], log.shown[slot] = code, -2 - element
        elif log.held[slot] != code:
            odd[mine] = True
            find_strange(code, strange, counts)


class Keys(NamedTuple):
    """What is true of keys: each value has one slot and each slot one value, if it is not `odd`;
    `gaps` are slots of which nobody tells; something was acknowledged, or shown, before what is at
    or below it was begun, if it is `late`; and how many records were `acked`."""

    odd: Bools
    gaps: Bools
    late: Bools
    acked: Ints64


class Speakers(NamedTuple):
    """By element the row that it is of; by row the other half, and the outcome: where an invocation
    speaks for its completion, that has one."""

    op: Ints32
    partner: Ints32
    outcome: Ints8


@inlined
def row_at(place: int, speakers: Speakers) -> int:
    """The completed operation at a place that is its row, or -2 - an element."""
    row = place
    if place < NOWHERE:
        row = speakers.op[-2 - place]
        if speakers.outcome[row] == 0:
            row = speakers.partner[row]
    return row


@kernel
def compare_slots(
    low: int,
    high: int,
    start: Ints64,
    key_of: Ints32,
    speakers: Speakers,
    called: Ints32,
    where: Ints32,
    sent: Sent,
    log: Log,
    keys: Keys,
    unsure: Ints32,
) -> int:
    """Whether what was polled at the slots of the keys from `low` on is what was sent there. Slots
    whose sender is not known to be ok are `unsure`. Returns how many. Values of odd keys may make
    others odd, so they are looked at, too."""
    count = 0
    for key in range(low, high):
        latest, acked, is_odd, has_gaps, is_late = np.int32(-1), 0, False, False, False
        for slot in range(np.uint64(start[key]), np.uint64(start[key + 1])):
            code, op = log.held[slot], sent.sender[slot]
            acked += op >= 0
            if op >= 0 and code == sent.value[slot]:
                latest = max(latest, sent.called[slot])
                is_late |= bool((latest > op) | (latest > row_at(log.shown[slot], speakers)))
            elif code < 0:
                has_gaps = True
                is_odd |= bool(op >= 0)
            elif (
                op < 0
                and where[code] < NOWHERE
                and speakers.outcome[row_at(where[code], speakers)] == 2
            ):
                unsure[count] = slot
                count += 1
                latest = max(latest, called[row_at(where[code], speakers)])
                is_late |= bool(latest > row_at(log.shown[slot], speakers))
            else:
                is_odd = True
                suspect(where[code], start, key_of, keys.odd)
        if is_odd:
            # Only ever raised, for another thread may find the same.
            keys.odd[key] = True
        keys.gaps[key], keys.late[key], keys.acked[key] = has_gaps, is_late, acked
    return count


@kernel
def place_unsure_sends(
    unsure: Ints32,
    start: Ints64,
    key_of: Ints32,
    speakers: Speakers,
    where: Ints32,
    log: Log,
    committed: Ints8,
    odd: Bools,
) -> None:
    """Those that were polled took effect; a slot says so by -2 - operation."""
    for slot in unsure:
        code = log.held[slot]
        place, key = where[code], place_in(start, slot)
        if place >= 0 or key_of[-2 - place] != key:
            odd[key] = True
            suspect(place, start, key_of, odd)
        if place < 0:
            op = row_at(place, speakers)
            committed[op] = 1
            where[code], log.sender[slot] = slot, -2 - op


@kernel
def tell_values(
    low: int,
    high: int,
    start: Ints64,
    odd: Bools,
    rows: Rows,
    offset: Ints64,
    shift: Ints64,
    log: Log,
    owner: Ints32,
    writer: Ints32,
    reader: Ints32,
    first: Ints32,
) -> None:
    """By value what slots tell of the keys from `low` on, but for odd ones."""
    for key in range(low, high):
        for slot in range(start[key], start[key] if odd[key] else start[key + 1]):
            code, op, shown = log.held[slot], log.sender[slot], log.shown[slot]
            if code < 0:
                continue
            owner[code], first[code] = key, slot
            writer[code] = op if op >= 0 else -2 - op
            if shown >= 0:
                begin = rows.begin[shown]
                reader[code] = begin + slot - shift[key] - offset[begin]
            else:
                reader[code] = -2 - shown


@kernel
def tell_unplaced(
    about: Ints64,
    rows: Rows,
    cells: Cells,
    odd: Bools,
    where: Ints32,
    owner: Ints32,
    writer: Ints32,
) -> None:
    """The senders of values that are at no slot, but for those of odd keys."""
    for op in about:
        for element in range(rows.begin[op], rows.end[op]):
            if role_of(cells.kind[element]) != 1 or not cells.told[element]:
                continue
            code, key = cells.number[element], cells.key[element]
            if where[code] == -2 - element and not odd[key]:
                owner[code], writer[code] = key, op
