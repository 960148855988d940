"""How each process goes along each log: what its polls show and its sends append, in turn.

A lane is one process on one key. A place where a lane jumps is a pair of elements; of each kind
of jump the first few are kept and all are counted. In a log without gaps and doubles a record's
offset says its rank, if it is known to be there; in others the rank is looked up.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints64
from checkers.kernels import inlined, inner_kernel, kernel
from checkers.kernels.fetching import look_ahead
from checkers.kernels.survey import role_of
from checkers.kernels.tables import Cells, Lanes, Ranks, Rows
from harness.history.kinds import ASSIGN, OWNED, RECORD

SENDS = 1

SKIP, BACK, INNER_SKIP, INNER_BACK, PRODUCER_BACK = 0, 1, 2, 3, 4


@inner_kernel
def note(found: Ints64, count: Ints64, what: int, before: int, after: int) -> None:
    if count[what] < found.shape[1]:
        found[what, count[what], 0] = before
        found[what, count[what], 1] = after
    count[what] += 1


@inner_kernel
def jump(here: int, there: int) -> int:
    """How many ranks there are from one element to the next; 1, as it should be, if unknown."""
    return there - here if here >= 0 and there >= 0 else 1


@inner_kernel
def rank_of(value: int, key: int, ranks: Ranks) -> np.int64:
    """-1 if it is not in the log."""
    if ranks.doubtful[key]:
        return np.int64(ranks.of_value[value])
    slot = np.int64(ranks.first[value])
    return slot - ranks.start[key] if slot >= 0 else slot


@inner_kernel
def forget(lanes: Lanes, first: int, last: int) -> None:
    for lane in range(first, last):
        lanes.kept[lane] = -1
        lanes.since[lane] = -1
        lanes.acked[lane] = -1


@inner_kernel
def reassign(op: int, how: int, rows: Rows, cells: Cells, keys: int, lanes: Lanes) -> None:
    """What is assigned is replaced (1), or added to or taken from (2). A lane lives on only if its
    key is listed without a position being set."""
    who, kept = rows.process[op], lanes.kept
    lane = lanes.block[who] * keys
    for element in range(rows.begin[op], rows.end[op]):
        if lanes.owner[lanes.block[who]] != who:
            break
        if cells.kind[element] == ASSIGN:
            if kept[lane + cells.key[element]] >= lanes.epoch[who]:
                kept[lane + cells.key[element]] = op
        elif cells.kind[element] == OWNED:
            kept[lane + cells.key[element]] = -1
    if how == 1:
        lanes.epoch[who] = op


@inlined
def is_step(op: int, rows: Rows, cells: Cells, doubtful: Bools) -> bool:
    """Whether its elements follow each other step by step, so that the first tells of all: a plain
    operation that is ok, in a log beyond doubt."""
    ok = rows.outcome[op] == 1 and rows.plain[op]
    return bool(ok and not doubtful[cells.key[rows.begin[op]]])


@inlined
def step_of_poll(
    op: int,
    lane: int,
    rows: Rows,
    cells: Cells,
    ranks: Ranks,
    lanes: Lanes,
    found: Ints64,
    count: Ints64,
) -> int:
    """All of an operation at once; `lane` is the process's first. Returns how many steps it is."""
    first, more = rows.begin[op], rows.end[op] - rows.begin[op] - 1
    lane, steps = lane + cells.key[first], more
    here = cells.offset[first] - ranks.base[cells.key[first]]
    if lanes.kept[lane] >= lanes.epoch[rows.process[op]]:
        steps += 1
        by = jump(lanes.before_at[lane], here)
        if by != 1:
            note(found, count, SKIP if by > 1 else BACK, lanes.before[lane], first)
    lanes.kept[lane] = op
    lanes.before[lane], lanes.before_at[lane] = first + more, here + more
    return int(steps)


@inlined
def step_of_send(
    op: int,
    lane: int,
    rows: Rows,
    cells: Cells,
    ranks: Ranks,
    lanes: Lanes,
    found: Ints64,
    count: Ints64,
) -> int:
    """As step_of_poll."""
    first, more = rows.begin[op], rows.end[op] - rows.begin[op] - 1
    lane, at = lane + cells.key[first], cells.offset[first]
    here = at - ranks.base[cells.key[first]]
    follows = lanes.kept[lane] >= lanes.epoch[rows.process[op]]
    if follows and jump(lanes.before_at[lane], here) < 1:
        note(found, count, BACK, lanes.before[lane], first)
    if lanes.acked[lane] >= 0 and lanes.acked_at[lane] >= at:
        note(found, count, PRODUCER_BACK, lanes.acked[lane], first)
    lanes.kept[lane] = op
    lanes.before[lane], lanes.before_at[lane] = first + more, here + more
    lanes.acked[lane], lanes.acked_at[lane] = first + more, at + more
    return int(more + 1)


@kernel
def poll_jumps(
    rows: Rows,
    moves: Ints8,
    cells: Cells,
    ranks: Ranks,
    exempt: Bools,
    lanes: Lanes,
    found: Ints64,
    count: Ints64,
) -> int:
    """Between operations from the last ok one on, and within one. Returns how many steps were seen.

    `moves`: 1 for an operation that replaces what is assigned, 2 for one that adds or takes away.
    """
    steps, keys = 0, ranks.base.size
    block, owner, epoch = lanes.block, lanes.owner, lanes.epoch
    for turn, op in enumerate(rows.pollers):
        look_ahead(turn, rows.pollers, rows, cells)
        how, who = rows.outcome[op], rows.process[op]
        mine = block[who]
        if moves[op]:
            if how != 3:
                reassign(op, moves[op], rows, cells, keys, lanes)
            continue
        if owner[mine] != who:
            owner[mine] = who
            forget(lanes, mine * keys, (mine + 1) * keys)
        if is_step(op, rows, cells, ranks.doubtful):
            steps += step_of_poll(op, mine * keys, rows, cells, ranks, lanes, found, count)
            continue
        lane, last, last_at = -1, -1, -1
        for element in range(rows.begin[op], rows.end[op]):
            if cells.kind[element] != RECORD or cells.number[element] < 0:
                continue
            at, on = cells.offset[element], cells.key[element]
            here = at - ranks.base[on]
            if at < 0 or ranks.doubtful[on]:
                here = rank_of(cells.number[element], on, ranks)
            if mine * keys + on != lane:
                if lane >= 0:
                    lanes.within[lane], lanes.within_at[lane] = last, last_at
                lane, last = mine * keys + on, -1
                if lanes.since[lane] == op:
                    last, last_at = lanes.within[lane], lanes.within_at[lane]
                elif lanes.kept[lane] >= epoch[who]:
                    steps += 1
                    by = jump(lanes.before_at[lane], here)
                    if by != 1:
                        note(found, count, SKIP if by > 1 else BACK, lanes.before[lane], element)
                lanes.since[lane] = op
            if last >= 0:
                steps += 1
                by = jump(last_at, here)
                if by != 1 and not (exempt.size and exempt[element]):
                    note(found, count, INNER_SKIP if by > 1 else INNER_BACK, last, element)
            last, last_at = element, here
            if how == 1:
                lanes.kept[lane], lanes.before[lane], lanes.before_at[lane] = op, element, here
    return steps


@kernel
def send_jumps(
    rows: Rows,
    moves: Ints8,
    cells: Cells,
    ranks: Ranks,
    lanes: Lanes,
    found: Ints64,
    count: Ints64,
) -> int:
    """As poll_jumps; and, by acknowledged offsets alone and whatever is assigned, producers that
    go back."""
    steps, keys = 0, ranks.base.size
    block, owner, epoch = lanes.block, lanes.owner, lanes.epoch
    acked, acked_at, offset = lanes.acked, lanes.acked_at, cells.offset
    for turn, op in enumerate(rows.senders):
        look_ahead(turn, rows.senders, rows, cells)
        how, who = rows.outcome[op], rows.process[op]
        mine = block[who]
        if moves[op]:
            if how != 3:
                reassign(op, moves[op], rows, cells, keys, lanes)
            continue
        if owner[mine] != who:
            owner[mine] = who
            forget(lanes, mine * keys, (mine + 1) * keys)
        if is_step(op, rows, cells, ranks.doubtful):
            steps += step_of_send(op, mine * keys, rows, cells, ranks, lanes, found, count)
            continue
        for element in range(rows.begin[op], rows.end[op]):
            if role_of(cells.kind[element]) != SENDS or cells.number[element] < 0:
                continue
            at, on = offset[element], cells.key[element]
            here = at - ranks.base[on]
            if how != 1 or at < 0 or ranks.doubtful[on]:
                here = rank_of(cells.number[element], on, ranks)
            lane = mine * keys + on
            follows = how != 3 and lanes.kept[lane] >= epoch[who]
            if lanes.since[lane] == op:
                by = jump(lanes.within_at[lane], here)
                if by != 1:
                    note(
                        found,
                        count,
                        INNER_SKIP if by > 1 else INNER_BACK,
                        lanes.within[lane],
                        element,
                    )
            elif follows and jump(lanes.before_at[lane], here) < 1:
                note(found, count, BACK, lanes.before[lane], element)
            if how == 1 and at >= 0:
                steps += 1
                if acked[lane] >= 0 and acked_at[lane] >= at:
                    note(found, count, PRODUCER_BACK, acked[lane], element)
                acked[lane], acked_at[lane] = element, at
            lanes.since[lane], lanes.within[lane], lanes.within_at[lane] = op, element, here
            if how != 3:
                lanes.kept[lane], lanes.before[lane], lanes.before_at[lane] = op, element, here
    return steps
