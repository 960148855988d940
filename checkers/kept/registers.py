"""Registers as a history tells of them: what was put to each name, and what is known of each log.

A put of unknown outcome may be anywhere in its log where another record is not known to be, and
where the log had not grown to before the put began. There is seldom such a place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from checkers.columns import FAIL, OK
from checkers.log.facts import LogFacts
from checkers.log.words import key_text
from harness.history import kinds

UNKNOWN = -1


class Put(NamedTuple):
    offset: int
    """Where it was acknowledged or, if it was not, polled; -1 if nobody knows."""
    value: Any
    row: int
    call: int
    is_told: bool
    """Its place was told with an acknowledgement."""

    @property
    def is_placed(self) -> bool:
        return self.offset != UNKNOWN


class Log:
    """One partition: what it holds as far as is known, and how far it had grown when."""

    def __init__(self) -> None:
        self.polled: dict[int, Any] = {}
        """By offset."""
        self.last_poll = UNKNOWN
        """The row of the last that returned anything."""
        self.low = 0
        """Where it begins: what is below was deleted by retention."""
        self.end: int | None = None
        """Where it ended when it had been read for the last time, if somebody asked."""
        self._acknowledged: set[int] = set()
        self._growth: list[tuple[int, int]] = []

    def acknowledge(self, row: int, offset: int) -> None:
        self._acknowledged.add(offset)
        self.grow(row, offset + 1)

    def grow(self, row: int, end: int) -> None:
        """At this row somebody knows that it has come so far."""
        self._growth.append((row, end))

    def offset_of(self, value: Any) -> int:
        """Where it was polled last; values may be anything, so they are compared one by one."""
        return max((at for at, one in self.polled.items() if one == value), default=UNKNOWN)

    def has_room(self, put: Put, *, above: int, below: int) -> bool:
        """Whether a put whose place is not known may be between these offsets."""
        first = max(above + 1, self._end_before(put.call))
        taken = bisect_left(self._taken, below) - bisect_left(self._taken, first)
        return below - first > taken

    @cached_property
    def _taken(self) -> list[int]:
        """Offsets of known records. Of a deletion that was polled nobody knows whose it is."""
        values = {offset for offset, value in self.polled.items() if value is not None}
        return sorted(self._acknowledged | values)

    def _end_before(self, row: int) -> int:
        rows, ends = self._grown
        at = bisect_left(rows, row)
        return ends[at - 1] if at else 0

    @cached_property
    def _grown(self) -> tuple[list[int], list[int]]:
        growth = sorted(self._growth)
        return [row for row, _ in growth], list(accumulate((end for _, end in growth), max))


class Name:
    """One name of a partition, and what was put to it, but for what failed."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.puts: list[Put] = []

    def last(self, *, below: int | None = None, before: int | None = None) -> Put | None:
        """The put with the highest known offset: below `below`, begun before row `before`."""
        placed = [
            put
            for put in self.puts
            if put.is_placed
            and (below is None or put.offset < below)
            and (before is None or put.call < before)
        ]
        return max(placed, key=lambda put: put.offset, default=None)

    @property
    def unplaced(self) -> list[Put]:
        return [put for put in self.puts if not put.is_placed]

    def may_be_deleted(self, *, above: int, below: int, before: int) -> bool:
        """Between these offsets, by a deletion of unknown place that began before this row."""
        return any(
            put.value is None
            and put.call < before
            and self.log.has_room(put, above=above, below=below)
            for put in self.unplaced
        )

    def may_be_gone(self, last: Put) -> bool:
        """In the end, though it had this put: a deletion of unknown place may be anywhere behind
        it, a value only where nobody has read, for else it would have been polled."""
        log = self.log
        if log.end is None:
            return any(put.value is None for put in self.unplaced)
        unread = max(last.offset, *log.polled)
        return any(
            log.has_room(put, above=last.offset if put.value is None else unread, below=log.end)
            for put in self.unplaced
        )


class Registers:
    def __init__(self, facts: LogFacts) -> None:
        self.facts = facts
        self.names: dict[int, Name] = {}
        self.logs: dict[str, Log] = defaultdict(Log)
        for row, key, offset, value in told(facts, kinds.PUT, kinds.PUT_AT):
            outcome = facts.columns.outcome[row]
            if outcome != FAIL:
                is_told = bool(outcome == OK and offset != UNKNOWN)
                call = int(facts.columns.call[row])
                put = Put(offset if is_told else UNKNOWN, value, row, call, is_told)
                log = self.logs[self._log_of(key)]
                self.names.setdefault(key, Name(log)).puts.append(put)
                if is_told:
                    log.acknowledge(row, offset)
        if self.names:
            self._read()
            self._place()

    def _read(self) -> None:
        facts, outcome, call = self.facts, self.facts.columns.outcome, self.facts.columns.call
        for row, key, end, _ in told(facts, kinds.GET_AT):
            if outcome[row] == OK:
                self.logs[self._log_of(key)].grow(row, end)
        for row, key, offset, value in told(facts, kinds.RECORD):
            if outcome[row] == OK:
                log = self.logs[self._log_of(key)]
                log.polled[offset] = value
                log.last_poll = max(log.last_poll, row)
        for _, key, low, _ in told(facts, kinds.LOW):
            log = self.logs[self._log_of(key)]
            log.low = max(log.low, low)
        for row, key, high, _ in told(facts, kinds.HIGH):
            log = self.logs[self._log_of(key)]
            if outcome[row] == OK and UNKNOWN < log.last_poll < call[row]:
                log.end = max(log.end or 0, high, max(log.polled) + 1)

    def _place(self) -> None:
        """What was not acknowledged, but polled."""
        for name in self.names.values():
            for at, put in enumerate(name.puts):
                if not put.is_placed and put.value is not None:
                    name.puts[at] = put._replace(offset=name.log.offset_of(put.value))

    @property
    def is_read_back(self) -> bool:
        return any(log.polled for log in self.logs.values())

    def _log_of(self, key: int) -> str:
        return key_text(self.facts, key).partition("/")[0]


def told(facts: LogFacts, *wanted: int) -> Iterator[tuple[int, int, int, Any]]:
    """Row, key, offset and value of completed operations; a value of null is None."""
    columns, elements = facts.columns, facts.columns.elements
    begin, end = columns.spans
    for element in facts.of_kind(*wanted).tolist():
        row = columns.row_of(element)
        is_told = columns.outcome[row] and begin[row] <= element < end[row]
        if is_told and columns.ops.process[row] >= 0:
            value = columns.value_of(element) if elements.told[element] else None
            yield row, int(elements.key[element]), int(elements.offset[element]), value
