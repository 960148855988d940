"""How each process goes along each log: what its polls show and its sends append, in turn.

A lane is one process on one key. A place where a lane jumps is a pair of elements; of each kind
of jump the first few are kept and all are counted.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import kernel
from harness.history.kinds import ASSIGN, OWNED

SKIP, BACK, INNER_SKIP, INNER_BACK, PRODUCER_BACK = 0, 1, 2, 3, 4


@kernel
def note(found: Ints64, count: Ints64, what: int, before: int, after: int) -> None:
    if count[what] < found.shape[1]:
        found[what, count[what], 0] = before
        found[what, count[what], 1] = after
    count[what] += 1


@kernel
def reassign(
    op: int, lane: int, begin: int, end: int, kind: Ints8, key: Ints32, kept: Ints32, epoch: int
) -> None:
    """A lane lives on only if the assignment lists its key without setting its position."""
    for element in range(begin, end):
        if kind[element] == ASSIGN:
            if kept[lane + key[element]] >= epoch:
                kept[lane + key[element]] = op
        elif kind[element] == OWNED:
            kept[lane + key[element]] = -1


@kernel
def jump(index: Ints32, number: Ints32, before: int, after: int) -> int:
    """How many ranks there are from one element to the next; 1, as it should be, if unknown."""
    here, there = index[number[before]], index[number[after]]
    return there - here if here >= 0 and there >= 0 else 1


@kernel
def poll_jumps(
    outcome: Ints8,
    process: Ints32,
    moves: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    role: Ints8,
    key: Ints32,
    number: Ints32,
    index: Ints32,
    exempt: Bools,
    keys: int,
    processes: int,
    found: Ints64,
    count: Ints64,
) -> int:
    """Between operations from the last ok one on, and within one. Returns how many steps were seen.

    `moves`: 1 for an operation that replaces what is assigned, 2 for one that adds or takes away.
    """
    steps = 0
    kept = np.full(processes * keys, -1, np.int32)
    before = np.full(processes * keys, -1, np.int64)
    within = np.full(processes * keys, -1, np.int64)
    since = np.full(processes * keys, -1, np.int32)
    epoch = np.zeros(processes, np.int32)
    for op in range(outcome.size):
        how, who = outcome[op], process[op]
        if how == 0:
            continue
        if moves[op]:
            if how != 3:
                reassign(op, who * keys, begin[op], end[op], kind, key, kept, epoch[who])
                if moves[op] == 1:
                    epoch[who] = op
            continue
        for element in range(begin[op], end[op]):
            if role[element] != 2 or number[element] < 0:
                continue
            lane = who * keys + key[element]
            if since[lane] == op:
                steps += 1
                by = jump(index, number, within[lane], element)
                if by != 1 and not (exempt.size and exempt[element]):
                    note(found, count, 2 if by > 1 else 3, within[lane], element)
            elif kept[lane] >= epoch[who]:
                steps += 1
                by = jump(index, number, before[lane], element)
                if by != 1:
                    note(found, count, 0 if by > 1 else 1, before[lane], element)
            within[lane], since[lane] = element, op
            if how == 1:
                kept[lane], before[lane] = op, element
    return steps


@kernel
def send_jumps(
    outcome: Ints8,
    process: Ints32,
    moves: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    role: Ints8,
    key: Ints32,
    offset: Ints64,
    number: Ints32,
    index: Ints32,
    keys: int,
    processes: int,
    found: Ints64,
    count: Ints64,
) -> int:
    """As poll_jumps; and, by acknowledged offsets alone and whatever is assigned, producers that
    go back."""
    steps = 0
    kept = np.full(processes * keys, -1, np.int32)
    before = np.full(processes * keys, -1, np.int64)
    within = np.full(processes * keys, -1, np.int64)
    since = np.full(processes * keys, -1, np.int32)
    acked = np.full(processes * keys, -1, np.int64)
    epoch = np.zeros(processes, np.int32)
    for op in range(outcome.size):
        how, who = outcome[op], process[op]
        if how == 0:
            continue
        if moves[op]:
            if how != 3:
                reassign(op, who * keys, begin[op], end[op], kind, key, kept, epoch[who])
                if moves[op] == 1:
                    epoch[who] = op
            continue
        for element in range(begin[op], end[op]):
            if role[element] != 1 or number[element] < 0:
                continue
            lane = who * keys + key[element]
            if since[lane] == op:
                by = jump(index, number, within[lane], element)
                if by != 1:
                    note(found, count, 2 if by > 1 else 3, within[lane], element)
            elif (
                how != 3
                and kept[lane] >= epoch[who]
                and jump(index, number, before[lane], element) < 1
            ):
                note(found, count, 1, before[lane], element)
            if how == 1 and offset[element] >= 0:
                steps += 1
                if acked[lane] >= 0 and offset[acked[lane]] >= offset[element]:
                    note(found, count, 4, acked[lane], element)
                acked[lane] = element
            within[lane], since[lane] = element, op
            if how != 3:
                kept[lane], before[lane] = op, element
    return steps
