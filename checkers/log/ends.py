"""Reads that assert an end: what they did not see comes after them.

An answer to end-offsets asserts the end of a log. A poll does not, for Kafka's consumers answer
from what they have fetched so far; only where a history is said to have exact polls does each show
all there is from its place on. Such a read comes before whoever wrote the next record.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.columns import OK
from checkers.log.facts import POLL, LogFacts
from checkers.transactions.graph import RW, WR, Edges
from harness.history import kinds

Read = tuple[int, int, int]
"""A row, the key it read, and the first slot that it says was not there yet."""


def edges_of_ends(facts: LogFacts, *, exact_polls: bool) -> list[Edges]:
    """From the writer of the last record that a read saw, and to the writer of the next."""
    reads = [*_told_ends(facts), *(_exact_polls(facts) if exact_polls else ())]
    before, after = _neighbours(facts)
    saw: list[tuple[int, int]] = []
    missed: list[tuple[int, int, int]] = []
    for row, key, slot in reads:
        begin, end = int(facts.slots.start[key]), int(facts.slots.start[key + 1])
        last = int(before[slot - 1]) if slot > begin else -1
        seen = int(facts.slots.held[last]) if last >= begin else -1
        if seen >= 0:
            saw.append((row, seen))
        following = int(after[slot]) if slot < end else end
        if following < end:
            missed.append((row, seen, int(facts.slots.held[following])))
    return [_wr(facts, saw), _rw(facts, missed)]


def _wr(facts: LogFacts, saw: list[tuple[int, int]]) -> Edges:
    rows, numbers = (np.array([one[at] for one in saw], np.int32) for at in range(2))
    return facts.values.writer[numbers], rows, WR, numbers, numbers


def _rw(facts: LogFacts, missed: list[tuple[int, int, int]]) -> Edges:
    rows, seen, numbers = (np.array([one[at] for one in missed], np.int32) for at in range(3))
    writer: Ints32 = facts.values.writer[numbers]
    return rows, writer, RW, seen, numbers


def _neighbours(facts: LogFacts) -> tuple[Ints64, Ints64]:
    """For each slot the last one in use at or before it, and the first at or after it."""
    slots = np.arange(facts.slots.held.size)
    used = facts.slots.held >= 0
    before = np.maximum.accumulate(np.where(used, slots, -1))
    after = np.minimum.accumulate(np.where(used, slots, slots.size)[::-1])[::-1]
    return before, after


def _told_ends(facts: LogFacts) -> Iterator[Read]:
    columns, elements = facts.columns, facts.columns.elements
    for element in np.flatnonzero((elements.kind == kinds.HIGH) & (elements.offset >= 0)).tolist():
        row, key = int(elements.op[element]), int(elements.key[element])
        if columns.outcome[row] == OK:
            slot = facts.slot_from(element)
            yield row, key, slot if slot >= 0 else int(facts.slots.start[key + 1])


def _exact_polls(facts: LogFacts) -> Iterator[Read]:
    """What an ok poll shows ends its log; of a log where it shows nothing, what it had read so far
    was the end."""
    columns, elements = facts.columns, facts.columns.elements
    reached: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(columns.outcome == OK).tolist():
        ends: dict[int, int] = {}
        for element in range(int(facts.begin[row]), int(facts.end[row])):
            key = int(elements.key[element])
            lane = (int(columns.ops.process[row]), key)
            if facts.role_at(element) == POLL and elements.offset[element] >= 0:
                slot = int(facts.shift[key] + facts.offset[element]) + 1
                ends[key] = reached[lane] = max(ends.get(key, 0), slot)
            elif elements.kind[element] == kinds.POLLED_EMPTY:
                ends.setdefault(key, reached.get(lane, int(facts.slots.start[key])))
            elif elements.kind[element] == kinds.ASSIGN_AT:
                slot = facts.slot_from(element)
                reached[lane] = slot if slot >= 0 else int(facts.slots.start[key + 1])
        for key, slot in ends.items():
            yield row, key, slot
