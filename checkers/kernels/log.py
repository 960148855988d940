"""One log per key, put together from what producers were told and consumers were shown.

Elements are sends (1) and polls (2) of completed operations, in the order of the history; the
elements of operation `op` are begin[op] to end[op]. A value has one number per key. A slot is an
offset of a key: `start[key] + offset`, offsets counted from the key's first.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints8, Ints32, Ints64
from checkers.kernels import kernel


@kernel
def witnesses_of_values(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    number: Ints32,
    writer: Ints32,
    reader: Ints32,
    other_reader: Ints32,
) -> tuple[int, int]:
    """Who wrote each value, as surely as possible, and the first element that shows it: in an ok
    poll, in any other. Returns how many ok sends and ok polled records there are."""
    sends, polled = 0, 0
    for op in range(outcome.size):
        how = outcome[op]
        if how == 0:
            continue
        for element in range(begin[op], end[op]):
            value = number[element]
            if value < 0:
                continue
            if kind[element] == 1:
                before = writer[value]
                # ok beats info beats fail; among equals the last is as good as any.
                if before < 0 or outcome[before] >= how:
                    writer[value] = op
                sends += how == 1
            elif kind[element] == 2:
                if how == 1:
                    polled += 1
                    if reader[value] < 0:
                        reader[value] = element
                elif other_reader[value] < 0:
                    other_reader[value] = element
    return sends, polled


@kernel
def commitments(
    outcome: Ints8, begin: Ints64, end: Ints64, kind: Ints8, number: Ints32, reader: Ints32
) -> Ints8:
    """1 where an operation certainly took effect: it is ok, or a value of its was polled."""
    committed = np.zeros(outcome.size, np.int8)
    for op in range(outcome.size):
        if outcome[op] == 1:
            committed[op] = 1
        elif outcome[op] == 2:
            for element in range(begin[op], end[op]):
                if kind[element] == 1 and number[element] >= 0 and reader[number[element]] >= 0:
                    committed[op] = 1
                    break
    return committed


@kernel
def extents(kind: Ints8, key: Ints32, offset: Ints64, lowest: Ints64, highest: Ints64) -> int:
    """The least and greatest offset of each key. Returns how many elements have one."""
    count = 0
    for element in range(key.size):
        at = offset[element]
        if at < 0 or kind[element] < 1 or kind[element] > 2:
            continue
        count += 1
        k = key[element]
        if lowest[k] < 0 or at < lowest[k]:
            lowest[k] = at
        if at > highest[k]:
            highest[k] = at
    return count


@kernel
def smaller(value: int, other: int, plain: int, strays: Ints64) -> bool:
    """By the values themselves: those that several keys have were numbered last."""
    mine = value if value < plain else strays[value - plain]
    return mine < (other if other < plain else strays[other - plain])


@kernel
def fill_slots(
    outcome: Ints8,
    committed: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    number: Ints32,
    start: Ints64,
    strays: Ints64,
    held: Ints32,
    clash: Ints8,
    first: Ints32,
    last: Ints32,
) -> None:
    """What each slot holds (the least of its values), whether it holds several, and the first and
    last slot of each value. Polls of every operation count, sends of those that took effect."""
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        for element in range(begin[op], end[op]):
            value, at = number[element], offset[element]
            if value < 0 or at < 0 or (kind[element] == 1 and not committed[op]):
                continue
            slot = start[key[element]] + at
            now = held[slot]
            if now < 0:
                held[slot] = value
            elif now != value:
                clash[slot] = 1
                if smaller(value, now, first.size - strays.size, strays):
                    held[slot] = value
            if first[value] < 0 or slot < first[value]:
                first[value] = slot
            if slot > last[value]:
                last[value] = slot


@kernel
def ranks(start: Ints64, held: Ints32, rank: Ints32, index: Ints32) -> None:
    """Offsets without gaps: the rank of each slot in use, and each value's own rank."""
    for key in range(start.size - 1):
        place = 0
        for slot in range(start[key], start[key + 1]):
            if held[slot] >= 0:
                rank[slot] = place
                index[held[slot]] = place
                place += 1


@kernel
def bounds(
    owner: Ints32, reader: Ints32, first: Ints32, rank: Ints32, bound: Ints32, witness: Ints32
) -> None:
    """For each key the highest rank that an ok poll has surely reached, and by which value."""
    for value in range(owner.size):
        if reader[value] >= 0 and first[value] >= 0:
            place, key = rank[first[value]], owner[value]
            if place > bound[key]:
                bound[key] = place
                witness[key] = value


@kernel
def lost_values(
    owner: Ints32,
    writer: Ints32,
    committed: Ints8,
    reader: Ints32,
    last: Ints32,
    rank: Ints32,
    bound: Ints32,
    floor: Ints64,
    cap: int,
) -> tuple[int, int, Ints32]:
    """Values that took effect below what was read and were never polled; and how many should have
    been. `floor` is the slot below which records of the key may have been deleted."""
    found, count, due = np.empty(cap, np.int32), 0, 0
    for value in range(owner.size):
        if last[value] < 0 or writer[value] < 0 or not committed[writer[value]]:
            continue
        key = owner[value]
        if rank[last[value]] > bound[key] or last[value] < floor[key]:
            continue
        due += 1
        if reader[value] < 0:
            if count < cap:
                found[count] = value
            count += 1
    return due, count, found[: min(count, cap)]


@kernel
def elements_at(
    outcome: Ints8,
    committed: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    number: Ints32,
    start: Ints64,
    chosen: Ints8,
    by_value: bool,
    things: int,
    cap: int,
) -> tuple[Ints32, Ints64, Ints32]:
    """Operations and elements that are the first to say what the chosen slots hold, or where the
    chosen values are. Things are chosen by numbers from 1; for each, `cap` places are kept."""
    ops = np.empty((things, cap), np.int32)
    elements = np.empty((things, cap), np.int64)
    count = np.zeros(things, np.int32)
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        for element in range(begin[op], end[op]):
            value, at = number[element], offset[element]
            if value < 0 or at < 0 or (kind[element] == 1 and not committed[op]):
                continue
            thing = (chosen[value] if by_value else chosen[start[key[element]] + at]) - 1
            if thing < 0 or count[thing] == cap:
                continue
            known = False
            for place in range(count[thing]):
                other = elements[thing, place]
                known |= number[other] == value and offset[other] == at
            if not known:
                ops[thing, count[thing]] = op
                elements[thing, count[thing]] = element
                count[thing] += 1
    return ops.ravel(), elements.ravel(), count


@kernel
def own_reads(
    outcome: Ints8, begin: Ints64, end: Ints64, kind: Ints8, number: Ints32, cap: int
) -> tuple[int, int, Ints64]:
    """Polled elements whose value the same operation sends, one for each operation; and how many
    operations both send and poll."""
    found, count, both = np.empty(cap, np.int64), 0, 0
    for op in range(outcome.size):
        if outcome[op] == 0 or end[op] - begin[op] < 2:
            continue
        sends, polls, own = 0, 0, -1
        for element in range(begin[op], end[op]):
            sends += kind[element] == 1
            polls += kind[element] == 2
        if not sends or not polls:
            continue
        both += 1
        for element in range(begin[op], end[op]):
            if kind[element] == 2 and number[element] >= 0 and own < 0:
                for other in range(begin[op], end[op]):
                    if kind[other] == 1 and number[other] == number[element]:
                        own = element
        if own >= 0:
            if count < cap:
                found[count] = own
            count += 1
    return both, count, found[: min(count, cap)]


@kernel
def reads_before_sends(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    number: Ints32,
    writer: Ints32,
    call: Ints32,
    cap: int,
) -> tuple[int, int, Ints64]:
    """Polled elements of ok operations that ended before the value's sender began."""
    found, count, reads = np.empty(cap, np.int64), 0, 0
    for op in range(outcome.size):
        if outcome[op] != 1:
            continue
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != 2 or value < 0 or writer[value] < 0:
                continue
            reads += 1
            if call[writer[value]] > op:
                if count < cap:
                    found[count] = element
                count += 1
    return reads, count, found[: min(count, cap)]


@kernel
def edges_of_reads(
    outcome: Ints8, begin: Ints64, end: Ints64, kind: Ints8, number: Ints32, writer: Ints32
) -> tuple[Ints32, Ints32, Ints32]:
    """From senders to those who polled them, once for records of one sender in a row."""
    count = 0
    for op in range(outcome.size):
        if outcome[op]:
            for element in range(begin[op], end[op]):
                count += kind[element] == 2
    source = np.empty(count, np.int32)
    target = np.empty(count, np.int32)
    value_of = np.empty(count, np.int32)
    count = 0
    for op in range(outcome.size):
        if outcome[op] == 0:
            continue
        before = -1
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != 2 or value < 0 or writer[value] < 0 or writer[value] == before:
                continue
            before = writer[value]
            source[count], target[count], value_of[count] = before, op, value
            count += 1
    return source[:count], target[:count], value_of[:count]
