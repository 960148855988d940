"""Lists that transactions append to and read whole: their one order, and who disagrees with it.

A run is one read: its elements lie together, at one position of one operation.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints8, Ints32, Ints64
from checkers.kernels import array_kernel, inner_kernel, kernel
from harness.history.kinds import APPEND, READ, READ_ELEMENT, READ_EMPTY


@kernel
def appenders(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    number: Ints32,
    writer: Ints32,
    appended: Ints64,
    final: Ints8,
) -> None:
    """Who appended each value, as surely as possible, where, and whether it was their last to that
    list."""
    for op in range(outcome.size):
        how = outcome[op]
        if how == 0:
            continue
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != APPEND or value < 0:
                continue
            before = writer[value]
            if before >= 0 and outcome[before] < how:
                continue
            writer[value], appended[value], final[value] = op, element, 1
            for other in range(element + 1, end[op]):
                if kind[other] == APPEND and key[other] == key[element]:
                    final[value] = 0
                    break


@kernel
def find_runs(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    position: Ints32,
    op_of: Ints32,
    first: Ints64,
    size: Ints32,
) -> int:
    """Of ok operations. A read of null saw the list as it was at first, empty. Returns how many."""
    run = -1
    for op in range(outcome.size):
        if outcome[op] != 1:
            continue
        for element in range(begin[op], end[op]):
            if kind[element] == READ_ELEMENT:
                if element == begin[op] or position[element - 1] != position[element]:
                    run += 1
                    op_of[run], first[run], size[run] = op, element, 0
                size[run] += 1
            elif kind[element] == READ or kind[element] == READ_EMPTY:
                run += 1
                op_of[run], first[run], size[run] = op, element, 0
    return run + 1


@kernel
def longest_runs(first: Ints64, size: Ints32, key: Ints32, longest: Ints64) -> None:
    for run in range(first.size):
        mine = key[first[run]]
        if longest[mine] < 0 or size[run] > size[longest[mine]]:
            longest[mine] = run


@array_kernel
def put_in_order(
    longest: Ints64, first: Ints64, size: Ints32, number: Ints32, start: Ints64, order: Ints32
) -> Ints32:
    """The values of each list in its order, doubles left out. Returns how many of each."""
    count = np.zeros(longest.size, np.int32)
    place = np.full(order.size, -1, np.int32)
    for key in range(longest.size):
        run = longest[key]
        if run < 0:
            continue
        for element in range(first[run], first[run] + size[run]):
            value = number[element]
            # Values are numbered for each key, so a number that has a place has it in this list.
            if place[value] < 0:
                place[value] = count[key]
                order[start[key] + count[key]] = value
                count[key] += 1
    return count


@array_kernel
def disagreements(
    op_of: Ints32,
    first: Ints64,
    size: Ints32,
    key: Ints32,
    number: Ints32,
    start: Ints64,
    count: Ints32,
    order: Ints32,
    reader: Ints64,
    agrees: Ints8,
    cap: int,
) -> tuple[int, Ints64]:
    """Runs that are no prefix of their list's order. Notes the first element that shows a value:
    of a prefix, what is beyond the longest one before."""
    found, wrong = np.empty(cap, np.int64), 0
    longest = np.zeros(count.size, np.int32)
    for run in range(first.size):
        mine = key[first[run]]
        base, same, known = start[mine], size[run] <= count[mine], longest[mine]
        if same:
            differ = 0
            for step in range(size[run]):
                differ += order[base + step] != number[first[run] + step]
            same = differ == 0
        for step in range(known if same else 0, size[run]):
            value = number[first[run] + step]
            if reader[value] < 0:
                reader[value] = first[run] + step
        if same:
            longest[mine] = max(known, size[run])
        else:
            agrees[run] = 0
            if wrong < cap:
                found[wrong] = run
            wrong += 1
    return wrong, found[: min(wrong, cap)]


@inner_kernel
def appended_before(
    begin: int, element: int, kind: Ints8, key: Ints32, position: Ints32
) -> tuple[int, int]:
    """The first element of the last read of this list before `element` in its operation, or -1; and
    how many appends to the list come after that."""
    mine, seen = -1, 0
    for other in range(begin, element):
        if key[other] != key[element]:
            continue
        if kind[other] == APPEND:
            seen += 1
        elif kind[other] in (READ, READ_EMPTY, READ_ELEMENT):
            if mine < 0 or position[other] != position[mine]:
                mine = other
            seen = 0
    return mine, seen


@inner_kernel
def expects(
    begin: int,
    element: int,
    size: int,
    kind: Ints8,
    key: Ints32,
    position: Ints32,
    number: Ints32,
) -> bool:
    """Whether a read agrees with what its own operation read and appended before it."""
    mine, seen = appended_before(begin, element, kind, key, position)
    known = 0
    if mine >= 0 and kind[mine] == READ_ELEMENT:
        while position[mine + known] == position[mine] and kind[mine + known] == READ_ELEMENT:
            known += 1
    if size < seen + known or (mine >= 0 and size != seen + known):
        return False
    for step in range(known):
        if number[mine + step] != number[element + step]:
            return False
    left = seen
    for other in range(element - 1, begin - 1, -1):
        if left and kind[other] == APPEND and key[other] == key[element]:
            if number[other] != number[element + size - 1 - (seen - left)]:
                return False
            left -= 1
    return True


@kernel
def inner_faults(
    op_of: Ints32,
    first: Ints64,
    size: Ints32,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    position: Ints32,
    number: Ints32,
    writer: Ints32,
    appended: Ints64,
    final: Ints8,
    found: Ints64,
    count: Ints64,
) -> None:
    """Runs that contradict their own operation (0), show its own later append (1), or end in the
    midst of another's appends (2)."""
    for run in range(first.size):
        op, element = op_of[run], first[run]
        wrong = -1
        # What an operation says of other lists contradicts nothing.
        others = 0
        for other in range(begin[op], element):
            others += key[other] == key[element]
        for other in range(element + max(size[run], 1), end[op]):
            others += key[other] == key[element]
        if others:
            for step in range(size[run]):
                value = number[element + step]
                if writer[value] == op and appended[value] > element:
                    wrong = 1
            if wrong < 0 and not expects(
                begin[op], element, size[run], kind, key, position, number
            ):
                wrong = 0
        if wrong >= 0:
            if count[wrong] < found.shape[1]:
                found[wrong, count[wrong]] = run
            count[wrong] += 1
        if size[run]:
            value = number[element + size[run] - 1]
            if writer[value] >= 0 and writer[value] != op and not final[value]:
                if count[2] < found.shape[1]:
                    found[2, count[2]] = run
                count[2] += 1
