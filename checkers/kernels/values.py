"""Who wrote each value, who was shown it, where it is, and what is wrong with that.

What is rare is in functions of its own, for a call with so many columns costs more than the rest.
Kernels here answer for a range of values, or of keys, so that two may run side by side: nobody
else writes what belongs to that range, and what comes out does not depend on who is faster.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import kernel
from checkers.kernels.survey import place_in, role_of
from checkers.kernels.tables import Cells, Log, Places, Rows
from harness.history.kinds import RECORD

SENDS, POLLED, PLACED, STRAYS, MOVED = 0, 1, 2, 3, 4

DOUBLE, ABORTED, PHANTOM, UNSEEN, LOST, EARLY = 1, 2, 4, 8, 16, 32
SHOWN, ACKED, DUE = 0, 1, 2


@kernel
def move(code: int, slot: int, moved: Ints64, counts: Ints64) -> None:
    """A value has yet another slot; -1, if it may be of several keys."""
    if counts[MOVED] < moved.shape[0]:
        moved[counts[MOVED], 0] = code
        moved[counts[MOVED], 1] = slot
    counts[MOVED] += 1


@kernel
def settle_sends(
    known: bool,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    call: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """Values as far as sends tell of them: their key, who wrote them, and where. Unless numbers are
    `known` they are given here, by the place `start` where each producer's begin."""
    owner, writer, first, number = places.owner, places.writer, places.first, cells.number
    sends, strays = 0, 0
    for op in range(rows.outcome.size):
        how = rows.outcome[op]
        if how == 0 or not rows.roles[op] & 1:
            continue
        for element in range(rows.begin[op], rows.end[op]):
            if role_of(cells.kind[element]) != 1 or not cells.told[element]:
                continue
            code, mine = np.int64(number[element]), cells.key[element]
            if not known:
                code = start[cells.value[element] >> 32] + (cells.value[element] & 0xFFFFFFFF)
                number[element] = code
                if owner[code] != mine:
                    if owner[code] >= 0:
                        strays += 1
                        move(int(code), -1, moved, counts)
                    owner[code] = mine
            # ok beats info beats fail; among equals the last is as good as any.
            if writer[code] < 0 or rows.outcome[writer[code]] >= how:
                writer[code] = op
            if how != 1:
                continue
            sends += 1
            if cells.offset[element] < 0:
                doubtful[mine] = True
                continue
            slot = shift[mine] + cells.offset[element]
            log.acked[slot], log.called[slot] = op, call[op]
            if first[code] < 0:
                first[code] = slot
            elif first[code] != slot:
                move(int(code), slot, moved, counts)
    counts[SENDS] += sends
    counts[STRAYS] += strays


@kernel
def settle_polls(
    known: bool,
    rows: Rows,
    cells: Cells,
    start: Ints64,
    shift: Ints64,
    places: Places,
    log: Log,
    bound: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """As settle_sends, of polls; what they show is what slots hold. Those that are ok bound what
    must have been read of each key. The slot says the key: where there is none, numbers have to be
    known. As long as all polls are ok, whatever has a slot has a reader."""
    reader, first, number = places.reader, places.first, cells.number
    polled, placed, strays, all_ok = 0, 0, 0, True
    for op in range(rows.outcome.size):
        how = rows.outcome[op]
        if how == 0 or not rows.roles[op] & 2:
            continue
        for element in range(rows.begin[op], rows.end[op]):
            if cells.kind[element] != RECORD or not cells.told[element]:
                continue
            code, mine = np.int64(number[element]), cells.key[element]
            if not known:
                code = start[cells.value[element] >> 32] + (cells.value[element] & 0xFFFFFFFF)
                number[element] = code
            polled += how == 1
            if how != 1 or cells.offset[element] < 0:
                all_ok = False
            if how != 1:
                if places.other_reader[code] < 0:
                    places.other_reader[code] = element
            elif (first[code] < 0 or not all_ok) and reader[code] < 0:
                reader[code] = element
            if cells.offset[element] < 0:
                doubtful[mine] = True
                if not known:
                    strays += 1
                    move(int(code), -1, moved, counts)
                continue
            placed += rows.type[op] != 0
            slot = shift[mine] + cells.offset[element]
            if slot > bound[mine] and how == 1:
                bound[mine] = slot
            if first[code] < 0:
                first[code] = slot
                doubtful[mine] |= log.held[slot] >= 0
                log.held[slot], log.shown[slot] = code, op
            elif first[code] != slot:
                move(int(code), slot, moved, counts)
    counts[POLLED] += polled
    counts[PLACED] += placed
    counts[STRAYS] += strays


@kernel
def elements_of(
    low: int,
    high: int,
    kind: Ints8,
    value: Ints64,
    told: Bools,
    start: Ints64,
    wanted: Bools,
    found: Ints64,
) -> int:
    """Elements of the wanted values, sent or polled; of as many as there are, those that there is
    room for."""
    count = 0
    for element in range(low, high):
        if not told[element] or role_of(kind[element]) == 0:
            continue
        if wanted[start[value[element] >> 32] + (value[element] & 0xFFFFFFFF)]:
            if count < found.size:
                found[count] = element
            count += 1
    return count


@kernel
def bring_together(
    known: bool,
    start: Ints64,
    places: Places,
    shown_first: Ints32,
    held: Ints32,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """What sends and polls tell of each value, and what nobody polled in the slots where it is."""
    owner, first = places.owner, places.first
    for value in range(owner.size):
        shown, sent = shown_first[value], first[value]
        if shown == sent:
            continue
        if sent < 0:
            first[value] = shown
            if not known:
                key = place_in(start, shown)
                if owner[value] >= 0 and owner[value] != key:
                    counts[STRAYS] += 1
                    move(value, -1, moved, counts)
                owner[value] = key
        elif shown >= 0:
            move(value, shown, moved, counts)
        elif held[sent] < 0:
            held[sent] = value
        else:
            doubtful[owner[value]] = True


@kernel
def place_unsure(
    rows: Rows,
    cells: Cells,
    committed: Ints8,
    shift: Ints64,
    places: Places,
    doubtful: Bools,
    moved: Ints64,
    counts: Ints64,
) -> None:
    """Sends that took effect though nobody said so, as far as they were told an offset."""
    first, number, offset = places.first, cells.number, cells.offset
    for op in range(rows.outcome.size):
        if rows.outcome[op] != 2 or not committed[op]:
            continue
        for element in range(rows.begin[op], rows.end[op]):
            if role_of(cells.kind[element]) == 1 and number[element] >= 0 and offset[element] >= 0:
                slot, code = shift[cells.key[element]] + offset[element], number[element]
                doubtful[cells.key[element]] = True
                if first[code] < 0:
                    first[code] = slot
                elif first[code] != slot:
                    move(int(code), slot, moved, counts)


@kernel
def doubt(low: int, high: int, start: Ints64, held: Ints32, doubtful: Bools) -> int:
    """Keys whose log has gaps are doubtful, too. Returns how many slots of others are in use."""
    used = 0
    for key in range(low, high):
        for slot in range(start[key], start[key + 1]):
            doubtful[key] |= held[slot] < 0
        if not doubtful[key]:
            used += start[key + 1] - start[key]
    return used


@kernel
def smaller(value: int, other: int, plain: int, strays: Ints64) -> bool:
    """By the values themselves: those that several keys have were numbered last."""
    mine = value if value < plain else strays[value - plain]
    return mine < (other if other < plain else strays[other - plain])


@kernel
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
def rank_slots(start: Ints64, held: Ints32, rank: Ints32, index: Ints32) -> None:
    """Offsets without gaps: the rank of each slot in use, and each value's own rank."""
    for key in range(start.size - 1):
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
