"""How far behind consumers are: polls that do not show what had been there for long.

Times are rows of the history until the very end, where a difference of two becomes nanoseconds.
"""

from __future__ import annotations

from checkers.arrays import Ints8, Ints32, Ints64
from checkers.kernels import inner_kernel, kernel
from checkers.kernels.survey import place_in, role_of
from checkers.kernels.tables import Cells
from harness.history.kinds import ASSIGN, ASSIGN_AT, OWNED, POLL, RECORD

ASSIGNS, SUBSCRIBES, GIVES, TAKES = 1, 2, 3, 4
FREE, WAITING = -1, -2
"""Of a process on a key: it does not read it; it does, from a place that its next record tells."""


@kernel
def first_known(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    cells: Cells,
    committed: Ints8,
    shift: Ints64,
    start: Ints64,
    known: Ints32,
) -> None:
    """The row by which each slot, or one above it, had been acknowledged or shown."""
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        for element in range(begin[op], end[op]):
            at, is_sent = cells.offset[element], role_of(cells.kind[element]) == 1
            if cells.number[element] < 0 or at < 0 or (is_sent and not committed[op]):
                continue
            slot = shift[cells.key[element]] + at
            if known[slot] < 0:
                known[slot] = op
    for one in range(start.size - 1):
        for slot in range(start[one + 1] - 2, start[one] - 1, -1):
            above = known[slot + 1]
            if above >= 0 and (known[slot] < 0 or above < known[slot]):
                known[slot] = above


@inner_kernel
def move(
    how: int,
    lane: int,
    begin: int,
    end: int,
    kind: Ints8,
    key: Ints32,
    start: Ints64,
    placed: Ints64,
    places: Ints64,
    next_: Ints64,
    scratch: Ints64,
) -> None:
    """What an assignment, or a group, does to the lanes of a process."""
    keys = scratch.size
    if how in (ASSIGNS, SUBSCRIBES):
        for one in range(keys):
            scratch[one] = next_[lane + one]
            next_[lane + one] = FREE
    for element in range(begin, end):
        one = key[element]
        if kind[element] == ASSIGN_AT:
            next_[lane + one] = places[place_in(placed, element)]
        elif kind[element] == ASSIGN and how == ASSIGNS:
            next_[lane + one] = scratch[one] if scratch[one] >= 0 else start[one]
        elif kind[element] == ASSIGN or (kind[element] == OWNED and how == GIVES):
            next_[lane + one] = WAITING
        elif kind[element] == OWNED:
            next_[lane + one] = FREE


@inner_kernel
def read_on(
    ok: bool,
    lane: int,
    begin: int,
    end: int,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    shift: Ints64,
    next_: Ints64,
) -> bool:
    """What an operation polls moves its lanes on, if it is ok. Returns whether it polls at all."""
    polls = False
    for element in range(begin, end):
        polls |= POLL <= kind[element] <= RECORD
        if ok and kind[element] == RECORD and offset[element] >= 0:
            here = lane + key[element]
            after = shift[key[element]] + offset[element] + 1
            if next_[here] != FREE and after > next_[here]:
                next_[here] = after
    return polls


@kernel
def lags(
    outcome: Ints8,
    process: Ints32,
    moves: Ints8,
    call: Ints64,
    time_ns: Ints64,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    shift: Ints64,
    start: Ints64,
    floor: Ints64,
    known: Ints32,
    placed: Ints64,
    places: Ints64,
    next_: Ints64,
    scratch: Ints64,
    bound_ns: int,
    found: Ints64,
    worst: Ints64,
) -> tuple[int, int]:
    """Places where an ok poll ended further behind than the bound, a row, a key and a slot each,
    and the worst of them: its lag, row, key, slot. Returns how many polls were asked, and how many
    places there are. `next_` is where each process reads each key, `scratch` as wide as there are
    keys."""
    asked, count, keys = 0, 0, scratch.size
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        lane = process[op] * keys
        if moves[op]:
            if outcome[op] != 3:
                where = (lane, begin[op], end[op])
                move(moves[op], *where, kind, key, start, placed, places, next_, scratch)
            continue
        ok = outcome[op] == 1
        polls = read_on(ok, lane, begin[op], end[op], kind, key, offset, shift, next_)
        if not polls or not ok or call[op] < 0:
            continue
        for one in range(keys):
            slot = next_[lane + one]
            if slot < 0:
                continue
            slot = max(slot, floor[one])
            asked += 1
            if slot >= start[one + 1] or known[slot] < 0 or known[slot] >= call[op]:
                continue
            lag = time_ns[call[op]] - time_ns[known[slot]]
            if lag > worst[0]:
                worst[0], worst[1], worst[2], worst[3] = lag, op, one, slot
            if 0 <= bound_ns < lag:
                if count < found.shape[0]:
                    found[count, 0], found[count, 1], found[count, 2] = op, one, slot
                count += 1
    return asked, count
