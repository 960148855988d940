"""One look at all elements, before anything is decided: what there is, and how wide tables are."""

from __future__ import annotations

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import inlined, inner_kernel, kernel
from checkers.kernels.tables import Seen
from harness.history.kinds import OUT, RECORD, SEND, SENT

NEAR = 4096
"""Producers below that have their values counted on the way."""

SENDING = 1 << SEND | 1 << SENT | 1 << OUT
"""Kinds as bits: comparing a kind with each of them would be the slowest part of the loops."""

COUNT, LEAST, GREATEST, BOXED, PLACED = 0, 1, 2, 3, 4


@inner_kernel
def role_of(kind: int) -> int:
    """1 for a record that is sent, 2 for one that is polled."""
    if kind == RECORD:
        return 2
    return SENDING >> int(kind) & 1


@inner_kernel
def place_in(places: Ints64, value: int) -> int:
    """The last of rising places that is at or below a value; -1 if there is none."""
    low, high = 0, places.size
    while low < high:
        middle = (low + high) >> 1
        if places[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inlined
def is_plain(
    begin: int,
    end: int,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    boxed: Bools,
    told: Bools,
) -> bool:
    """Whether elements are records of one key and kind, side by side in its log, with integers for
    values: then the first of them tells the place of all."""
    if offset[begin] < 0 or role_of(kind[begin]) == 0:
        return False
    for element in range(begin, end):
        if kind[element] != kind[begin] or key[element] != key[begin]:
            return False
        if offset[element] - element != offset[begin] - begin:
            return False
        if not told[element] or boxed[element]:
            return False
    return True


@kernel
def look_over(
    first: int,
    last: int,
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    op: Ints32,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    value: Ints64,
    boxed: Bools,
    told: Bools,
    number: Ints32,
    roles: Ints8,
    plain: Bools,
    seen: Seen,
) -> None:
    """Of the rows from `first` on, as far as they speak for themselves: what they do, whether they
    are plain, and all that is `seen`. Numbers of values are given later; those that may not be
    are none."""
    for row in range(first, last):
        low, high = begin[row], end[row]
        if low == high or op[low] != row:
            continue
        plain[row] = is_plain(low, high, kind, key, offset, boxed, told)
        if plain[row]:
            roles[row] = role_of(kind[low])
            seen.kinds[kind[low]] += high - low
            seen.facts[PLACED] += high - low
            widen(seen, key[low], offset[low], offset[high - 1])
            look_at_values(low, high, value, seen)
        else:
            roles[row] = look_closely(low, high, kind, key, offset, value, boxed, told, seen)
        if not plain[row] or outcome[row] != 1:
            number[low:high] = -1


@inlined
def widen(seen: Seen, key: int, low: int, high: int) -> None:
    if high > seen.highest[key]:
        seen.highest[key] = high
    if low < seen.lowest[key] or seen.lowest[key] < 0:
        seen.lowest[key] = low


@inlined
def look_at_values(begin: int, end: int, value: Ints64, seen: Seen) -> None:
    """How many there are, how far apart their upper halves, and how far each producer's go."""
    facts, width = seen.facts, seen.width
    facts[COUNT] += end - begin
    producer, top = value[begin] >> 32, value[begin] & 0xFFFFFFFF
    for element in range(begin, end + 1):
        # What comes again and again is written once: waiting for what was just written is slow.
        if element == end or value[element] >> 32 != producer:
            facts[LEAST] = min(facts[LEAST], producer)
            facts[GREATEST] = max(facts[GREATEST], producer)
            if 0 <= producer < NEAR and top >= width[producer]:
                width[producer] = top + 1
            if element == end:
                break
            producer, top = value[element] >> 32, value[element] & 0xFFFFFFFF
        top = max(top, value[element] & 0xFFFFFFFF)


@inner_kernel
def look_closely(
    begin: int,
    end: int,
    kind: Ints8,
    key: Ints32,
    offset: Ints64,
    value: Ints64,
    boxed: Bools,
    told: Bools,
    seen: Seen,
) -> int:
    """One by one. Returns what they do."""
    roles = 0
    for element in range(begin, end):
        seen.kinds[kind[element]] += 1
        role = role_of(kind[element])
        if role == 0:
            continue
        roles |= role
        if offset[element] >= 0:
            seen.facts[PLACED] += 1
            widen(seen, key[element], offset[element], offset[element])
        if told[element]:
            seen.facts[BOXED] += boxed[element]
            look_at_values(element, element + 1, value, seen)
    return roles


@kernel
def rows_doing(role: int, outcome: Ints8, roles: Ints8, moves: Ints8, rows: Ints32) -> int:
    """Completed operations with that role, or that move what is assigned. Returns how many; for one
    more there is room."""
    count = 0
    for row in range(outcome.size):
        # Without asking: half of the answers would be unforeseen.
        rows[count] = row
        count += (outcome[row] > 0) & ((roles[row] & role > 0) | (moves[row] > 0))
    return count


@kernel
def others_of(
    begin: Ints64, end: Ints64, op: Ints32, kind: Ints8, plain: Bools, others: Ints64
) -> None:
    """All elements that are neither sent nor polled."""
    count = 0
    for row in range(plain.size):
        if plain[row] or begin[row] == end[row] or op[begin[row]] != row:
            continue
        for element in range(begin[row], end[row]):
            if role_of(kind[element]) == 0:
                others[count] = element
                count += 1


@kernel
def blocks_of(process: Ints32, chosen: Ints32, last: Ints32, free: Ints32, block: Ints32) -> int:
    """A block of memory for each process of the chosen rows, given on when it is done: clients
    whose outcome is unknown come back under new numbers, so there are very many. Returns how many
    blocks; `last` and `free` have room for all processes."""
    for row in chosen:
        last[process[row]] = row
    spare, count = 0, 0
    for row in chosen:
        who = process[row]
        if block[who] < 0:
            if spare:
                spare -= 1
                block[who] = free[spare]
            else:
                block[who] = count
                count += 1
        if last[who] == row:
            free[spare] = block[who]
            spare += 1
    return count
