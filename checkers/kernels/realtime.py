"""The log of a key against real time: Theorem 6 of the linearizable log, as two scans.

Times are rows of the history, so that rows at the same nanosecond are concurrent.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import kernel
from checkers.kernels.tables import Cells, Places
from harness.history.kinds import RECORD

NEVER = 2**31 - 1


@kernel
def in_time(
    keys: Ints64,
    start: Ints64,
    held: Ints32,
    clash: Ints8,
    places: Places,
    op: Ints32,
    outcome: Ints8,
    call: Ints32,
    late_keys: Bools,
) -> int:
    """How many records of these keys were acknowledged at offsets beyond doubt; and of which keys
    it may be that one was acknowledged, or shown, before something at or below it was begun. Slots
    with doubtful contents say nothing of when they were sent. The first to be shown a value is
    enough: all others were shown it later."""
    seen = 0
    for key in keys:
        late, latest = False, np.int32(-1)
        for slot in range(start[key], start[key + 1]):
            value = held[slot]
            if value < 0:
                continue
            sender, reader, other = (
                places.writer[value], places.reader[value], places.other_reader[value]
            )  # fmt: skip
            if sender >= 0 and not clash[slot] and places.first[value] == places.last[value]:
                latest = max(latest, call[sender])
                if outcome[sender] == 1:
                    seen += 1
                    late |= bool(latest > sender)
            late |= bool(reader >= 0 and latest > op[reader])
            late |= bool(other >= 0 and latest > op[other])
        late_keys[key] = late
    return seen


@kernel
def called_before(
    chosen: Bools,
    start: Ints64,
    held: Ints32,
    clash: Ints8,
    first: Ints32,
    last: Ints32,
    writer: Ints32,
    call: Ints32,
    ends_at: Ints64,
    end_calls: Ints32,
    latest: Ints32,
    whose: Ints32,
) -> None:
    """For each slot of the chosen keys the latest moment at which a record at or below it was still
    to be sent, or the end of the log was asked for and told to be lower; and whose moment that is:
    a slot, or -2 - number of the question. Slots with doubtful contents say nothing of themselves.
    """
    for key in range(chosen.size):
        if not chosen[key]:
            continue
        for slot in range(start[key], start[key + 1]):
            latest[slot], whose[slot] = -1, -1
            value = held[slot]
            if value < 0 or clash[slot] or first[value] != last[value] or writer[value] < 0:
                continue
            latest[slot], whose[slot] = call[writer[value]], slot
    for question in range(ends_at.size):
        slot = ends_at[question]
        if slot >= 0 and end_calls[question] > latest[slot]:
            latest[slot], whose[slot] = end_calls[question], -2 - question
    for key in range(chosen.size):
        if not chosen[key]:
            continue
        for slot in range(start[key] + 1, start[key + 1]):
            if latest[slot - 1] > latest[slot]:
                latest[slot], whose[slot] = latest[slot - 1], whose[slot - 1]


@kernel
def late_appends(
    chosen: Bools,
    start: Ints64,
    held: Ints32,
    clash: Ints8,
    first: Ints32,
    last: Ints32,
    writer: Ints32,
    outcome: Ints8,
    latest: Ints32,
    found: Ints64,
) -> int:
    """Slots of the chosen keys that were acknowledged before something at or below was begun.
    Returns how many."""
    count = 0
    for key in range(chosen.size):
        if not chosen[key]:
            continue
        for slot in range(start[key], start[key + 1]):
            value = held[slot]
            if value < 0 or clash[slot] or first[value] != last[value] or writer[value] < 0:
                continue
            if outcome[writer[value]] == 1 and latest[slot] > writer[value]:
                if count < found.size:
                    found[count] = slot
                count += 1
    return count


@kernel
def early_reads(
    about: Ints32,
    chosen: Bools,
    type_: Ints8,
    begin: Ints64,
    end: Ints64,
    cells: Cells,
    shift: Ints64,
    held: Ints32,
    latest: Ints32,
    found: Ints64,
) -> int:
    """Polled elements of the chosen keys that were shown before something at or below was begun.
    Returns how many."""
    key, offset, number, count = cells.key, cells.offset, cells.number, 0
    for op in about:
        if type_[op] == 0:
            continue
        for element in range(begin[op], end[op]):
            if cells.kind[element] != RECORD or number[element] < 0 or offset[element] < 0:
                continue
            if not chosen[key[element]]:
                continue
            slot = shift[key[element]] + offset[element]
            if latest[slot] > op and held[slot] == number[element]:
                if count < found.size:
                    found[count] = element
                count += 1
    return count
