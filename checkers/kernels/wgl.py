"""Linearizability by search: Wing and Gong's, with Lowe's memory, made small.

What was linearised is known by its frontier, the first return that was not, and by which of the
operations in flight there were: a few words instead of a bit for every operation. Operations that
never change the state are taken at once. Operations that never returned are optional, come last,
and of equal ones the first; a configuration that used fewer of them stands for one that used more.

Kinds: 0 read, 1 write, 2 compare and set, 3 failed compare and set, 4 append (state * b + a),
5 by table.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from checkers.arrays import Bools, Ints32, Ints64
from checkers.kernels import array_kernel, inner_kernel

Words = npt.NDArray[np.uint64]

ANY = -(1 << 62)
READ, WRITE, CAS, FAILED_CAS, APPEND, TABLE = 0, 1, 2, 3, 4, 5


@inner_kernel
def step(kind: int, a: int, b: int, state: int, table: Ints32) -> tuple[bool, int]:
    """Whether an operation is legal in a state, and the state after it."""
    if kind == READ:
        return a in (ANY, state), state
    if kind == WRITE:
        return True, a
    if kind == CAS:
        return state == a, b
    if kind == FAILED_CAS:
        return state != a, state
    if kind == APPEND:
        return True, state * b + a
    after = table[state, a]
    return after >= 0, after


@inner_kernel
def mixed(word: np.uint64) -> np.uint64:
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xD6E8FEB86659FD93)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xD6E8FEB86659FD93)
    return word ^ (word >> np.uint64(32))


@array_kernel
def laid_out(
    call: Ints32, ret: Ints32, same: Ints32
) -> tuple[Ints32, Bools, Ints32, Ints32, Ints32, int]:
    """Events with their operations, which are returns, the bit of each operation (those that never
    return after all others), operations by return, the equal one before, and the words of bits
    that those that return need."""
    events = 2 * call.size
    op_at = np.full(events, -1, np.int32)
    returns = np.zeros(events, np.bool_)
    for op in range(call.size):
        op_at[call[op]] = op
        if ret[op] >= 0:
            op_at[ret[op]] = op
            returns[ret[op]] = True
    bit = np.empty(call.size, np.int32)
    free, frees, bits, crashed = np.empty(call.size, np.int32), 0, 0, 0
    ended, count = np.empty(call.size, np.int32), 0
    before = np.full(call.size, -1, np.int32)
    last = np.full(call.size + 1, -1, np.int32)
    for event in range(events):
        op = op_at[event]
        if op < 0:
            continue
        if returns[event]:
            ended[count], free[frees] = op, bit[op]
            count, frees = count + 1, frees + 1
            continue
        if ret[op] < 0:
            bit[op], crashed = -1 - crashed, crashed + 1
            before[op], last[same[op]] = last[same[op]], op
        elif frees:
            frees -= 1
            bit[op] = free[frees]
        else:
            bit[op], bits = bits, bits + 1
    words = (bits + 63) // 64
    for op in range(call.size):
        if bit[op] < 0:
            bit[op] = words * 64 - 1 - bit[op]
    return op_at, returns, bit, ended[:count], before, words


@inner_kernel
def place_of(
    frontier: int, state: int, mask: Words, words: int, table: Words, heads: Ints64
) -> tuple[bool, np.int64]:
    """Where a configuration is in the memory, or belongs; and whether one like it is there. Heads
    are frontier and state; a frontier of -1 is free."""
    hash_ = mixed(np.uint64(frontier) * np.uint64(0x9E3779B97F4A7C15) ^ mixed(np.uint64(state)))
    for word in range(words):
        hash_ = mixed(hash_ ^ mask[word])
    place = np.int64(hash_ & np.uint64(heads.shape[0] - 1))
    while heads[place, 0] >= 0:
        if heads[place, 0] == frontier and heads[place, 1] == state:
            alike = True
            for word in range(mask.size):
                if word < words:
                    alike &= table[place, word] == mask[word]
                else:
                    alike &= (table[place, word] & ~mask[word]) == np.uint64(0)
            if alike:
                return True, place
        place = (place + 1) & (heads.shape[0] - 1)
    return False, place


@array_kernel
def grown(words: int, table: Words, heads: Ints64) -> tuple[Words, Ints64]:
    larger = np.empty((4 * table.shape[0], table.shape[1]), np.uint64)
    tops = np.full((4 * heads.shape[0], 2), -1, np.int64)
    for old in range(heads.shape[0]):
        if heads[old, 0] >= 0:
            _, place = place_of(heads[old, 0], heads[old, 1], table[old], words, larger, tops)
            larger[place] = table[old]
            tops[place] = heads[old]
    return larger, tops


@inner_kernel
def unlink(call: int, ret: int, after: Ints32, prior: Ints32) -> None:
    """Takes an operation's events out of the list."""
    for event in (call, ret):
        if event >= 0:
            after[prior[event]] = after[event]
            prior[after[event]] = prior[event]


@inner_kernel
def relink(call: int, ret: int, after: Ints32, prior: Ints32) -> None:
    """Puts them where they were; the last one taken out is the first one back."""
    for event in (ret, call):
        if event >= 0:
            after[prior[event]] = event
            prior[after[event]] = event


@array_kernel
def chained(op_at: Ints32) -> tuple[Ints32, Ints32]:
    """All events as a list in both directions; its head is the last but one, its tail the last."""
    head = op_at.size
    after = np.empty(head + 2, np.int32)
    prior = np.empty(head + 2, np.int32)
    last = head
    for event in range(head):
        if op_at[event] >= 0:
            after[last], prior[event] = event, last
            last = event
    after[last], prior[head + 1] = head + 1, last
    return after, prior


@inner_kernel
def advanced(frontier: int, ended: Ints32, taken: Bools, bit: Ints32, mask: Words) -> int:
    """The frontier after everything that was taken; bits of what is behind it are free again."""
    while frontier < ended.size and taken[ended[frontier]]:
        place = bit[ended[frontier]]
        mask[place >> 6] &= ~(np.uint64(1) << np.uint64(place & 63))
        frontier += 1
    return frontier


@inner_kernel
def may_take(
    op: int, phase: int, what: Ints64, ret: Ints32, before: Ints32, taken: Bools, changes: bool
) -> bool:
    """Phase 0 takes what never changes the state, 1 what must be, 2 what may have been."""
    if ret[op] < 0:
        if not changes or (before[op] >= 0 and not taken[before[op]]):
            return False
        return phase == 2
    return phase == (0 if what[op, 3] else 1)


@array_kernel
def fresh(ops: int, width: int) -> tuple[Bools, Words, Words, Words, Ints64, Ints64, Words]:
    """What a search begins with: nothing taken, an empty memory, an empty path."""
    return (
        np.zeros(ops, np.bool_),
        np.zeros(width, np.uint64),
        np.zeros(width, np.uint64),
        np.empty((1024, width), np.uint64),
        np.full((1024, 2), -1, np.int64),
        np.empty((ops, 4), np.int64),
        np.empty((ops, width), np.uint64),
    )


@array_kernel
def search(
    call: Ints32, ret: Ints32, same: Ints32, what: Ints64, moves: Ints32, initial: int, budget: int
) -> tuple[int, int, int]:
    """`what`: of each operation its kind, a, b, and whether it never changes the state. Returns 1
    linearizable, 0 not, -1 nobody knows within the budget; the configurations visited; the
    operation that could not be passed."""
    op_at, returns, bit, ended, before, words = laid_out(call, ret, same)
    after, prior = chained(op_at)
    head, tail = op_at.size, op_at.size + 1
    width = words + (call.size - ended.size + 63) // 64
    taken, mask, trial, table, heads, path, masks = fresh(call.size, width)
    state, frontier, depth, used, furthest = initial, 0, 0, 0, 0
    phase, event = 0, after[head]
    while ended.size:
        if event == tail or returns[event]:
            if phase < 2:
                phase, event = phase + 1, after[head]
                continue
            if depth == 0:
                return 0, used, ended[furthest]
            depth -= 1
            op, state, frontier, phase = path[depth]
            mask[:] = masks[depth]
            taken[op] = False
            relink(call[op], ret[op], after, prior)
            # What never changes the state has no alternative.
            phase, event = (2, tail) if phase == 0 else (phase, after[call[op]])
            continue
        op = op_at[event]
        legal, then = step(what[op, 0], what[op, 1], what[op, 2], state, moves)
        if not legal or not may_take(op, phase, what, ret, before, taken, then != state):
            event = after[event]
            continue
        taken[op] = True
        trial[:] = mask
        trial[bit[op] >> 6] |= np.uint64(1) << np.uint64(bit[op] & 63)
        reached = advanced(frontier, ended, taken, bit, trial)
        if reached == ended.size:
            return 1, used, -1
        known, place = place_of(reached, then, trial, words, table, heads)
        if known:
            taken[op] = False
            phase, event = (2, tail) if phase == 0 else (phase, after[event])
            continue
        table[place], heads[place, 0], heads[place, 1] = trial, reached, then
        path[depth, 0], path[depth, 1], path[depth, 2], path[depth, 3] = op, state, frontier, phase
        masks[depth] = mask
        mask[:] = trial
        state, frontier, depth, used = then, reached, depth + 1, used + 1
        furthest = max(furthest, reached)
        if used > budget:
            return -1, used, ended[furthest]
        if 2 * used > heads.shape[0]:
            table, heads = grown(words, table, heads)
        unlink(call[op], ret[op], after, prior)
        phase, event = 0, after[head]
    return 1, used, -1
