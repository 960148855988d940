"""What slots hold, and what is wrong with values.

Kernels here answer for a range of values, or of keys, so that two may run side by side: nobody
else writes what belongs to that range, and what comes out does not depend on who is faster.
"""

from __future__ import annotations

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import inner_kernel, kernel
from checkers.kernels.tables import Places

DOUBLE, ABORTED, PHANTOM, UNSEEN, LOST, EARLY = 1, 2, 4, 8, 16, 32
SHOWN, ACKED, DUE = 0, 1, 2


@inner_kernel
def smaller(value: int, other: int, plain: int, strays: Ints64) -> bool:
    """By the values themselves: those that several keys have were numbered last."""
    mine = value if value < plain else strays[value - plain]
    return mine < (other if other < plain else strays[other - plain])


@inner_kernel
def hold(value: int, slot: int, plain: int, strays: Ints64, held: Ints32, clash: Ints8) -> bool:
    """What a slot holds is the least of its values. Returns whether it holds several."""
    now = held[slot]
    if now < 0:
        held[slot] = value
    elif now != value:
        clash[slot] = 1
        if smaller(value, now, plain, strays):
            held[slot] = value
        return True
    return False


@kernel
def fill_doubtful(
    start: Ints64,
    places: Places,
    moved: Ints64,
    strays: Ints64,
    doubtful: Bools,
    held: Ints32,
    clash: Ints8,
) -> int:
    """What each slot of a doubtful key holds, and whether it holds several. Returns how many are in
    use."""
    used, plain = 0, places.owner.size - strays.size
    for key in range(doubtful.size):
        if doubtful[key]:
            for slot in range(start[key], start[key + 1]):
                held[slot] = -1
    for value in range(places.owner.size):
        if places.first[value] >= 0 and doubtful[places.owner[value]]:
            hold(value, places.first[value], plain, strays, held, clash)
    for place in range(moved.shape[0]):
        hold(moved[place, 0], moved[place, 1], plain, strays, held, clash)
    for key in range(doubtful.size):
        if doubtful[key]:
            for slot in range(start[key], start[key + 1]):
                used += held[slot] >= 0
    return used


@kernel
def bound_doubtful(
    places: Places, moved: Ints64, doubtful: Bools, bound: Ints32, furthest: Ints32
) -> None:
    """First and last slots of values that have several; and for doubtful keys the highest slot at
    which a value begins that an ok poll showed, and that value."""
    for place in range(moved.shape[0]):
        value, slot = moved[place]
        places.first[value] = min(places.first[value], slot)
        places.last[value] = max(places.last[value], slot)
    for key in range(doubtful.size):
        if doubtful[key]:
            bound[key] = furthest[key] = -1
    for value in range(places.owner.size):
        slot, key = places.first[value], places.owner[value]
        if slot >= 0 and doubtful[key] and slot > bound[key] and places.reader[value] >= 0:
            bound[key], furthest[key] = slot, value


@kernel
def rank_slots(
    low: int, high: int, start: Ints64, held: Ints32, rank: Ints32, index: Ints32
) -> None:
    """Offsets without gaps: the rank of each slot in use, and each value's own rank."""
    for key in range(low, high):
        place = 0
        for slot in range(start[key], start[key + 1]):
            if held[slot] >= 0:
                rank[slot] = place
                index[held[slot]] = place
                place += 1


@kernel
def mark(
    low: int,
    high: int,
    op: Ints32,
    outcome: Ints8,
    committed: Ints8,
    call: Ints32,
    places: Places,
    doubtful: Bools,
    bound: Ints32,
    floor: Ints64,
    marks: Ints8,
    counts: Ints64,
) -> None:
    """What is wrong with each value from `low` on: it is at several slots; its every send failed
    and it was polled; nobody sent it; it was acknowledged and never polled; it took effect below
    what was read, and was never polled; it was polled before its send began, which of slots beyond
    doubt the order of time tells. `floor` is the slot below which records of the key may have been
    deleted."""
    owner, writer, reader, other_reader, first, last = places
    shown, acked, due = 0, 0, 0
    for value in range(low, high):
        wrong = DOUBLE if first[value] != last[value] else 0
        sender = writer[value]
        read = reader[value] >= 0
        if read or other_reader[value] >= 0:
            shown += 1
            if sender < 0:
                wrong |= PHANTOM
            elif outcome[sender] == 3:
                wrong |= ABORTED
        if sender >= 0:
            at = last[value]
            if outcome[sender] == 1:
                acked += 1
                if not read and (at < 0 or at >= floor[owner[value]]):
                    wrong |= UNSEEN
            if at >= 0 and committed[sender]:
                key = owner[value]
                if at <= bound[key] and at >= floor[key]:
                    due += 1
                    if not read:
                        wrong |= LOST
            if read and (at < 0 or doubtful[owner[value]]) and call[sender] > op[reader[value]]:
                wrong |= EARLY
        marks[value] = wrong
        if wrong:
            for bit in range(6):
                if wrong & (1 << bit):
                    counts[3 + bit] += 1
    counts[SHOWN] += shown
    counts[ACKED] += acked
    counts[DUE] += due
