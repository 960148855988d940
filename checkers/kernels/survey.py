"""One look at all elements, before anything is decided: what there is, and how wide tables are."""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import kernel
from harness.history.kinds import OUT, RECORD, SEND, SENT

NEAR = 4096
"""Producers below that have their values counted on the way."""

SENDING = 1 << SEND | 1 << SENT | 1 << OUT
"""Kinds as bits: comparing a kind with each of them would be the slowest part of the loops."""

COUNT, LEAST, GREATEST, BOXED, PLACED = 0, 1, 2, 3, 4


@kernel
def role_of(kind: int) -> int:
    """1 for a record that is sent, 2 for one that is polled."""
    if kind == RECORD:
        return 2
    return SENDING >> int(kind) & 1


@kernel
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


@kernel
def look_over(
    begin: int,
    end: int,
    op: Ints32,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    value: Ints64,
    boxed: Bools,
    told: Bools,
    kinds: Ints64,
    roles: Ints8,
    lowest: Ints64,
    highest: Ints64,
    width: Ints64,
    facts: Ints64,
) -> None:
    """Of the elements from `begin` on, whole operations: how many there are of each kind; what
    each operation does (1 sends, 2 polls, 3 both); the least and greatest offset of each key;
    how far the values of each producer go. `facts`: how many values there are, the least and
    greatest upper half, how many are not numbers, how many elements have an offset."""
    count, least, greatest, boxes, placed = 0, 1 << 62, -(1 << 62), 0, 0
    last_kind, since = 0, begin
    producer, top = -1, -1
    for element in range(begin, end):
        # What comes again and again is written once: waiting for what was just written is slow.
        if kind[element] != last_kind:
            kinds[last_kind] += element - since
            last_kind, since = kind[element], element
        role = role_of(last_kind)
        if role == 0:
            continue
        if roles[op[element]] & role == 0:
            roles[op[element]] |= role
        at, k = offset[element], key[element]
        if at >= 0:
            placed += 1
            if at > highest[k]:
                highest[k] = at
            if at < lowest[k] or lowest[k] < 0:
                lowest[k] = at
        if not told[element]:
            continue
        count += 1
        boxes += boxed[element]
        high, low = value[element] >> 32, value[element] & 0xFFFFFFFF
        if high != producer:
            if 0 <= producer < NEAR and top >= width[producer]:
                width[producer] = top + 1
            producer, top = high, low
            least, greatest = min(least, high), max(greatest, high)
        top = max(top, low)
    kinds[last_kind] += end - since
    if 0 <= producer < NEAR and top >= width[producer]:
        width[producer] = top + 1
    facts[COUNT] = count
    facts[LEAST] = least
    facts[GREATEST] = greatest
    facts[BOXED] = boxes
    facts[PLACED] = placed


@kernel
def lend_roles(outcome: Ints8, begin: Ints64, end: Ints64, op: Ints32, roles: Ints8) -> None:
    """To operations for which their invocation speaks."""
    for row in range(outcome.size):
        if outcome[row] > 1 and begin[row] < end[row] and op[begin[row]] != row:
            roles[row] = roles[op[begin[row]]]


@kernel
def blocks_of(
    process: Ints32, outcome: Ints8, roles: Ints8, role: int, processes: int
) -> tuple[int, Ints32]:
    """A block of memory for each process that does what `role` says, given on when it is done:
    clients whose outcome is unknown come back under new numbers, so there are very many."""
    last = np.full(processes, -1, np.int32)
    for row in range(process.size):
        if outcome[row] and roles[row] & role:
            last[process[row]] = row
    block = np.full(processes, -1, np.int32)
    free, spare, count = np.empty(processes, np.int32), 0, 0
    for row in range(process.size):
        who = process[row]
        if outcome[row] == 0 or not roles[row] & role:
            continue
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
    return count, block
