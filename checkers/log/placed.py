"""Where values are, by slots: all there is to know of a log about which nothing is odd."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import OK
from checkers.kernels import fitting, placing
from checkers.kernels.placing import Keys, Sent
from checkers.kernels.tables import Log, Places
from checkers.numbering import room_for
from checkers.parts import at_once, in_halves

if TYPE_CHECKING:
    from checkers.log.facts import LogFacts

_STRANGE = 1 << 16
"""Values that may be shown where slots do not say so, before all keys are odd."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What slots say of all logs; of odd ones it is not the whole truth."""

    start: Ints64
    """The first slot of each key, and the end of all."""
    where: Ints32
    """By value: its slot; or -2 - element, if who sent it was not ok, or not told where; or -1."""
    log: Log
    bound: Ints32
    """By key, the highest slot that an ok poll has reached; -1 if none."""
    keys: Keys
    committed: Ints8
    """By operation, whether it certainly took effect."""
    sends: int
    polled: int
    placed: int


def placed_values(facts: LogFacts, start: Ints64) -> Placed | None:
    """None if values are not small numbers in the order of their producers."""
    table = room_for(facts.survey.width, facts.survey.count) if facts.survey.near else None
    if table is None:
        return None
    numbers, count = np.cumsum(table) - table, int(table.sum())
    where, held, sender, shown, value, called = _emptied(count, *[int(start[-1])] * 5)
    log, sent = Log(held, sender, shown), Sent(value, sender, called)
    bound = np.full(facts.key_count, -1, np.int32)
    odd = np.zeros((2, facts.key_count), np.bool_)
    counts = np.zeros((2, 4), np.int64)
    strange = np.empty(_STRANGE, np.int32)
    rows, cells, shift = facts.rows, facts.cells, facts.shift

    def polls() -> None:
        told = (bound, odd[0], strange, counts[0])
        placing.place_polls(rows, cells, numbers, shift, log, *told)

    def sends() -> None:
        told = (where, sent, odd[1], counts[1])
        placing.place_sends(rows, cells, facts.called, numbers, start, shift, *told)

    at_once((polls, sends), size=facts.number.size)
    is_odd = odd[0] | odd[1]
    strangers = int(counts[0, placing.STRANGE])
    if strangers > _STRANGE:
        is_odd[:] = True
    places = where[strange[:strangers]]
    is_odd[np.searchsorted(start, places[places >= 0], side="right") - 1] = True
    is_odd[cells.key[-2 - places[places < placing.NOWHERE]]] = True
    keys, committed = _compared(facts, start, where, sent, log, is_odd)
    totals = counts.sum(axis=0)[:3].tolist()
    return Placed(start, where, log, bound, keys, committed, *totals)


def middle_key(start: Ints64) -> int:
    """The key at which half of all slots are past."""
    return min(int(np.searchsorted(start, start[-1] // 2)), start.size - 1)


def _emptied(*sizes: int) -> list[Ints32]:
    """Memory that is new is slow, so both threads ask for it, also for that which is never read
    before it is written. Each column is by itself: then most stretches begin with a cache line."""
    columns = [np.empty(size, np.int32) for size in sizes]

    def half(low: int, high: int) -> None:
        for column in columns:
            column[column.size * low // 2 : column.size * high // 2] = -1

    in_halves(2, half, size=sum(sizes))
    return columns


def _compared(
    facts: LogFacts, start: Ints64, where: Ints32, sent: Sent, log: Log, odd: Bools
) -> tuple[Keys, Ints8]:
    """What is true of keys; and which operations took effect."""
    gaps, late = np.zeros((2, facts.key_count), np.bool_)
    keys = Keys(odd, gaps, late, np.zeros(facts.key_count, np.int64))
    columns = facts.columns
    key_of = columns.elements.key
    speakers = placing.Speakers(columns.elements.op, columns.partner, columns.outcome)

    def half(low: int, high: int) -> Ints32:
        unsure = np.empty(int(start[high] - start[low]), np.int32)
        given = (start, key_of, speakers, facts.called, where, sent, log, keys)
        return unsure[: placing.compare_slots(low, high, *given, unsure)]

    middle = middle_key(start)
    halves = in_halves(facts.key_count, half, size=facts.number.size, middle=middle)
    committed: Ints8 = (columns.outcome == OK).view(np.int8)
    for unsure in halves:
        # The key of a slot has to be searched for.
        place = fitting(placing.place_unsure_sends, unsure.size * 8)
        place(unsure, start, key_of, speakers, where, log, committed, odd)
    return keys, committed


def tell(facts: LogFacts, placed: Placed, places: Places) -> None:
    """By value, which were empty, what slots tell of all keys that are not odd."""
    rows, cells, odd = facts.rows, facts.cells, placed.keys.odd
    columns = (places.owner, places.writer, places.reader, places.first)

    def half(low: int, high: int) -> None:
        given = (placed.start, odd, rows, cells.offset, facts.shift, placed.log)
        placing.tell_values(low, high, *given, *columns)

    middle = middle_key(placed.start)
    in_halves(facts.key_count, half, size=facts.number.size, middle=middle)
    about = facts.columns.not_ok
    unplaced = fitting(placing.tell_unplaced, facts.work_in(about))
    unplaced(about, rows, cells, odd, placed.where, places.owner, places.writer)


def places_by_slots(facts: LogFacts, placed: Placed) -> Places:
    """Of logs about which nothing is odd."""
    table = np.empty((5, placed.where.size), np.int32)
    at_once(tuple(partial(column.fill, -1) for column in table), size=facts.number.size)
    owner, writer, reader, other, first = table
    places = Places(owner, writer, reader, other, first, first)
    tell(facts, placed, places)
    return places
