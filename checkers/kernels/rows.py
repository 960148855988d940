"""Which rows of a history belong together: invocations and their completions, values and numbers.

Outcomes: 0 none (an invocation that was completed, or nothing of a client's), 1 ok, 2 info, 3 fail.
Types of rows: 0 invoke, 1 ok, 2 info, 3 fail.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import kernel


@kernel
def pair(process: Ints32, type_: Ints8, alone: Bools, open_: Ints32, partner: Ints32) -> None:
    """For each row its other half. A process does one thing at a time, which is `open_` by its
    number, but for what it is told meanwhile: those rows are alone."""
    for row in range(process.size):
        who = process[row]
        if who < 0 or alone[row]:
            continue
        if type_[row] == 0:
            open_[who] = row
        else:
            begun = open_[who]
            if begun >= 0:
                partner[row] = begun
                partner[begun] = row
                open_[who] = -1


@kernel
def calls_of(type_: Ints8, partner: Ints32, call: Ints32) -> None:
    """For each row that in which its operation was invoked, or -1."""
    for row in range(type_.size):
        call[row] = row if type_[row] == 0 else partner[row]


@kernel
def high_range(wanted: Bools, value: Ints64) -> tuple[np.int64, np.int64, int]:
    """The least and greatest upper half of the wanted values, and how many there are."""
    least, greatest, count = np.int64(0), np.int64(-1), 0
    for row in range(value.size):
        if wanted[row]:
            high = value[row] >> 32
            if count == 0 or high < least:
                least = high
            if count == 0 or high > greatest:
                greatest = high
            count += 1
    return least, greatest, count


@kernel
def low_widths(wanted: Bools, value: Ints64, least: int, width: Ints64) -> None:
    """For each upper half how wide a table of its lower halves is."""
    for row in range(value.size):
        if wanted[row]:
            high = (value[row] >> 32) - least
            low = (value[row] & 0xFFFFFFFF) + 1
            if low > width[high]:
                width[high] = low


@kernel
def number_densely(wanted: Bools, value: Ints64, least: int, start: Ints64, number: Ints32) -> None:
    for row in range(value.size):
        if wanted[row]:
            number[row] = start[(value[row] >> 32) - least] + (value[row] & 0xFFFFFFFF)
        else:
            number[row] = -1


@kernel
def claim(key: Ints32, number: Ints32, owner: Ints32) -> int:
    """A number belongs to the first key it is seen with; rows with another key are told apart
    by -2 - number. Returns how many those are."""
    strays = 0
    for row in range(number.size):
        code = number[row]
        if code < 0:
            continue
        if owner[code] < 0:
            owner[code] = key[row]
        elif owner[code] != key[row]:
            number[row] = -2 - code
            strays += 1
    return strays


@kernel
def own_spans(first: int, last: int, op: Ints32, begin: Ints64, end: Ints64) -> None:
    """Where the elements of each row begin and end, of the elements from `first` on."""
    for element in range(first, last):
        row = op[element]
        if element == 0 or op[element - 1] != row:
            begin[row] = element
        if element == op.size - 1 or op[element + 1] != row:
            end[row] = element + 1


@kernel
def following(
    process: Ints32, takes_part: Bools, last: Ints32, source: Ints32, target: Ints32
) -> int:
    """Each operation that takes part, and the next one of its process, whose `last` is kept.
    Returns how many pairs."""
    count = 0
    for row in range(process.size):
        if takes_part[row]:
            before = last[process[row]]
            if before >= 0:
                source[count], target[count] = before, row
                count += 1
            last[process[row]] = row
    return count
