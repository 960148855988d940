"""One look at all elements, before anything is decided: what there is, and how wide tables are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import inlined, inner_kernel, kernel
from checkers.kernels.tables import Cells, Seen
from harness.history.kinds import OUT, RECORD, SEND, SENT

NEAR = 4096
"""Producers below that have their values counted on the way."""

SENDING = 1 << SEND | 1 << SENT | 1 << OUT
"""Kinds as bits: comparing a kind with each of them would be the slowest part of the loops."""

COUNT, LEAST, GREATEST, BOXED, PLACED = 0, 1, 2, 3, 4

LOW = 0xFFFFFFFF
"""The lower half of a value."""

NEW, UNLIKE, OTHER, LEAP = 1, 2, 4, 8
"""What begins with an element: an operation; what does not go on as before; what is no integer; a
stretch of values that count up."""


@inner_kernel
def role_of(kind: int) -> int:
    """1 for a record that is sent, 2 for one that is polled."""
    if kind == RECORD:
        return 2
    return SENDING >> int(kind) & 1


@inner_kernel
def place_in(places: Ints64, value: int) -> int:
    """The last of rising places that is at or below a value; -1 if there is none."""
    low, high = 0, places.size
    while low < high:
        middle = (low + high) >> 1
        if places[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inner_kernel
def flag_unlike(column: Ints8 | Ints32, flags: Ints8, flag: int) -> None:
    """Where an element differs from the one before. The first of a column is the one before the
    first flag. Loops as short as this one are done for many elements at a time."""
    now, before = column[1:], column[:-1]
    for place in range(flags.size):
        flags[place] |= np.uint8(now[place] != before[place]) * flag


@inner_kernel
def flag_leaps(column: Ints64, flags: Ints8, flag: int, low: int) -> None:
    """As flag_unlike, where it is not one more, or the bits of `low` start anew."""
    now, before = column[1:], column[:-1]
    for place in range(flags.size):
        leaps = (now[place] != before[place] + 1) | (now[place] & low == 0)
        flags[place] |= np.uint8(leaps) * flag


@inner_kernel
def flag_others(boxed: Bools, told: Bools, flags: Ints8) -> None:
    for place in range(flags.size):
        flags[place] |= np.uint8(boxed[place] | (not told[place])) * OTHER


@inlined
def breaks_of(at: int, op: Ints32, cells: Cells, boxed: Bools, flags: Ints8, breaks: Ints32) -> int:
    """Which of the elements from `at` on begin an operation, a stretch of values, or something that
    is not plain. Returns how many; for one more there is room."""
    before, end = at - 1, at + flags.size
    flags[:] = 0
    flag_unlike(op[before:end], flags, NEW)
    flag_unlike(cells.kind[before:end], flags, UNLIKE)
    flag_unlike(cells.key[before:end], flags, UNLIKE)
    flag_leaps(cells.offset[before:end], flags, UNLIKE, -1)
    flag_leaps(cells.value[before:end], flags, LEAP, LOW)
    flag_others(boxed[at:end], cells.told[at:end], flags)
    count = 0
    for place in range(flags.size):
        breaks[count] = place
        count += flags[place] != 0
    return count


class Around(NamedTuple):
    """By element, the row that it is of, and whether its value is no integer; by row, the outcome
    and what is found out: where its elements begin and end, what it does, whether it is plain."""

    op: Ints32
    boxed: Bools
    outcome: Ints8
    begin: Ints64
    end: Ints64
    roles: Ints8
    plain: Bools


@kernel
def look_over(
    first: int, last: int, around: Around, cells: Cells, seen: Seen, flags: Ints8, breaks: Ints32
) -> None:
    """Of the elements from `first` on, which are those of whole operations: where each begins and
    ends, what it does, whether it is plain, and all that is `seen`. Numbers of values are given
    later; those that may not be are none. `flags` are for so many elements at a time, and one more.
    """
    low, at, plain = first, first + 1, False
    while low < last:
        size = min(flags.size - 1, last - at)
        count = breaks_of(at, around.op, cells, around.boxed, flags[:size], breaks)
        if at + size == last:
            # The last operation ends as if another one began.
            flags[size], breaks[count] = NEW, size
            count += 1
        if at == first + 1:
            plain = starts_plain(first, cells, around.boxed)
        for place in breaks[:count]:
            element, flag = at + place, flags[place]
            if plain and flag & (NEW | LEAP):
                widen_values(cells.value[element - 1], seen)
            if flag & NEW:
                close(low, element, plain, around, cells, seen)
                low = element
                plain = low < last and starts_plain(low, cells, around.boxed)
            elif flag & (UNLIKE | OTHER):
                plain = False
        at += size


@inner_kernel
def starts_plain(element: int, cells: Cells, boxed: Bools) -> bool:
    """Plain are records of one key and kind, side by side in its log, with integers for values:
    then the first of them tells the place of all."""
    is_record = cells.offset[element] >= 0 and role_of(cells.kind[element]) != 0
    return bool(is_record and cells.told[element] and not boxed[element])


@inlined
def close(low: int, high: int, plain: bool, around: Around, cells: Cells, seen: Seen) -> None:
    """An operation whose elements are all known."""
    row = around.op[low]
    around.begin[row], around.end[row], around.plain[row] = low, high, plain
    if plain:
        around.roles[row] = role_of(cells.kind[low])
        seen.kinds[cells.kind[low]] += high - low
        seen.facts[PLACED] += high - low
        seen.facts[COUNT] += high - low
        widen(seen, cells.key[low], cells.offset[low], cells.offset[high - 1])
    else:
        around.roles[row] = look_closely(low, high, cells, around.boxed, seen)
    if not plain or around.outcome[row] != 1:
        for element in range(low, high):
            cells.number[element] = -1


@inlined
def widen(seen: Seen, key: int, low: int, high: int) -> None:
    if high > seen.highest[key]:
        seen.highest[key] = high
    if low < seen.lowest[key] or seen.lowest[key] < 0:
        seen.lowest[key] = low


@inlined
def widen_values(value: int, seen: Seen) -> None:
    """How far apart the upper halves of values are, and how far each producer's go. Of a stretch of
    them the last is the greatest."""
    producer, top = value >> 32, value & LOW
    seen.facts[LEAST] = min(seen.facts[LEAST], producer)
    seen.facts[GREATEST] = max(seen.facts[GREATEST], producer)
    if 0 <= producer < NEAR and top >= seen.width[producer]:
        seen.width[producer] = top + 1


@inner_kernel
def look_closely(low: int, high: int, cells: Cells, boxed: Bools, seen: Seen) -> int:
    """One by one. Returns what they do."""
    roles = 0
    for element in range(low, high):
        kind = cells.kind[element]
        seen.kinds[kind] += 1
        role = role_of(kind)
        if role == 0:
            continue
        roles |= role
        if cells.offset[element] >= 0:
            seen.facts[PLACED] += 1
            widen(seen, cells.key[element], cells.offset[element], cells.offset[element])
        if cells.told[element]:
            seen.facts[BOXED] += boxed[element]
            seen.facts[COUNT] += 1
            widen_values(cells.value[element], seen)
    return roles


@kernel
def rows_doing(role: int, outcome: Ints8, roles: Ints8, moves: Ints8, rows: Ints32) -> int:
    """Completed operations with that role, or that move what is assigned. Returns how many; for one
    more there is room."""
    count = 0
    for row in range(outcome.size):
        # Without asking: half of the answers would be unforeseen.
        rows[count] = row
        count += (outcome[row] > 0) & ((roles[row] & role > 0) | (moves[row] > 0))
    return count


@kernel
def others_of(
    begin: Ints64, end: Ints64, op: Ints32, kind: Ints8, plain: Bools, others: Ints64
) -> None:
    """All elements that are neither sent nor polled."""
    count = 0
    for row in range(plain.size):
        if plain[row] or begin[row] == end[row] or op[begin[row]] != row:
            continue
        for element in range(begin[row], end[row]):
            if role_of(kind[element]) == 0:
                others[count] = element
                count += 1


@kernel
def blocks_of(process: Ints32, chosen: Ints32, last: Ints32, free: Ints32, block: Ints32) -> int:
    """A block of memory for each process of the chosen rows, given on when it is done: clients
    whose outcome is unknown come back under new numbers, so there are very many. Returns how many
    blocks; `last` and `free` have room for all processes."""
    for row in chosen:
        last[process[row]] = row
    spare, count = 0, 0
    for row in chosen:
        who = process[row]
        if block[who] < 0:
            if spare:
                spare -= 1
                block[who] = free[spare]
            else:
                block[who] = count
                count += 1
        if last[who] == row:
            free[spare] = block[who]
            spare += 1
    return count
