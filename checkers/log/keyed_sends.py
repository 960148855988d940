"""Records that were sent by their keys: who sent them in which order, and where they went.

A send that names `topic/key` instead of a partition leaves the choice to the client. Its invocation
has the key; its completion names the partition, and so does a poll that shows the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.columns import FAIL, OK, Columns
from checkers.log.words import value_text
from harness.client.driver import ANY_PARTITION, Place, place_of
from harness.history import kinds

NEVER = np.iinfo(np.int64).max
NOTHING = "no record was sent by its key"


class KeyedSends:
    """Columns by number; records are numbered in the order of sending."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        ops, elements = columns.ops, columns.elements
        self.names = [_name_of(key) for key in columns.history.keys]
        is_named = np.array([name is not None for name in self.names] + [False], np.bool_)
        is_int = elements.told & ~elements.boxed
        begun = (ops.type == 0) & (ops.process >= 0)
        sent = is_int & (elements.kind == kinds.SEND) & is_named[elements.key] & begun[elements.op]
        chosen = np.flatnonzero(sent)
        self.value: Ints64 = elements.value[chosen]
        self.call: Ints64 = elements.op[chosen].astype(np.int64)
        self.name: Ints64 = elements.key[chosen].astype(np.int64)
        """The history's key, `topic/key`, by its number."""
        self.process: Ints64 = ops.process[self.call].astype(np.int64)
        partner = columns.partner[self.call].astype(np.int64)
        self.end: Ints64 = np.where(partner >= 0, partner, NEVER)
        """Row of the completion; beyond all rows if there is none."""
        self.log: Ints64 = np.full(chosen.size, -1, np.int64)
        """The history's key of the partition, by its number; -1 if it is not known."""
        self.offset: Ints64 = np.full(chosen.size, -1, np.int64)
        self.is_acked: Bools = np.zeros(chosen.size, np.bool_)
        self._by_value = np.argsort(self.value, kind="stable")
        self._place(is_int & ~is_named[elements.key])

    def _place(self, is_told: Bools) -> None:
        """By what the completion says, or else by the first poll that shows the record."""
        ops, elements = self.columns.ops, self.columns.elements
        done = (ops.type != 0) & (ops.process >= 0)
        is_told = is_told & done[elements.op]
        for kind in (kinds.RECORD, kinds.SEND, kinds.SENT):
            # The last one counts, so polls go backwards, and acknowledgements come last.
            number, found = self.numbers(np.flatnonzero(is_told & (elements.kind == kind))[::-1])
            self.log[number] = elements.key[found]
            if kind != kinds.SEND:
                self.offset[number] = elements.offset[found]
            if kind == kinds.SENT:
                self.is_acked[number] = elements.offset[found] >= 0

    def numbers(self, found: Ints64) -> tuple[Ints64, Ints64]:
        """Numbers of the records that elements speak of, and those elements."""
        if not self.value.size:
            return np.empty(0, np.int64), found[:0]
        value = self.columns.elements.value[found]
        at = np.searchsorted(self.value, value, sorter=self._by_value)
        number = self._by_value[np.minimum(at, self.value.size - 1)]
        is_ours = self.value[number] == value
        return number[is_ours], found[is_ours]

    def by_producer_and_key(self, chosen: Ints64) -> list[Ints64]:
        """Some records, those of one process with one key together, in the order of sending."""
        order = chosen[np.lexsort((chosen, self.name[chosen], self.process[chosen]))]
        is_new = np.diff(self.name[order]) != 0
        is_new |= np.diff(self.process[order]) != 0
        return [own for own in np.split(order, np.flatnonzero(is_new) + 1) if own.size]

    def text(self, number: int) -> str:
        """`3:17 with key k7`"""
        name = self.names[int(self.name[number])]
        assert name is not None, "only such records are here"
        return f"{value_text(int(self.value[number]))} with key {name.key}"

    def log_text(self, number: int) -> str:
        return str(self.columns.key_of(int(self.log[number])))

    def op(self, number: int) -> int:
        """Index of the completion, or of the invocation if there is none."""
        end = int(self.end[number])
        return self.columns.index_of(int(self.call[number]) if end == NEVER else end)


class Name(NamedTuple):
    topic: str
    key: str


def place_named(key: Any) -> Place | None:
    """The place that a key of a history names; None for keys of other forms, as Jepsen has them."""
    try:
        return place_of(key) if isinstance(key, str) else None
    except ValueError:
        return None


def _name_of(key: Any) -> Name | None:
    place = place_named(key)
    if place is None or place.partition != ANY_PARTITION or place.name is None:
        return None
    return Name(place.topic, place.name)


class PartitionCount(NamedTuple):
    """A number of partitions that a topic has had, or may have had."""

    partitions: int
    since: int
    """Row in which somebody asked for so many; -1 if a client was told of them by itself."""
    acked: int
    """Row in which that was acknowledged, or NEVER."""


def partition_counts(columns: Columns) -> dict[str, list[PartitionCount]]:
    """By topic, from the least on."""
    since: dict[tuple[str, int], int] = {}
    acked: dict[tuple[str, int], int] = {}
    for row, topic, partitions in _counted(columns):
        grown = columns.ops.names[columns.ops.f[row]] == "create-partitions"
        begun = int(columns.call[row]) if grown else -1
        which = topic, partitions
        since[which] = min(begun, since.get(which, NEVER))
        if grown and columns.outcome[row] == OK:
            acked[which] = min(row, acked.get(which, NEVER))
    found: dict[str, list[PartitionCount]] = {}
    for which in sorted(since):
        count = PartitionCount(which[1], since[which], acked.get(which, NEVER))
        found.setdefault(which[0], []).append(count)
    return found


def _counted(columns: Columns) -> Iterator[tuple[int, str, int]]:
    """Rows that tell of a topic's partitions: additions that may have happened, and answers."""
    begin, end = columns.spans
    wanted = columns.has_f("create-partitions", "describe", "assign") & (columns.outcome > 0)
    wanted &= (columns.outcome != FAIL) & (columns.ops.process >= 0) & (begin < end)
    for row in np.flatnonzero(wanted).tolist():
        element = int(begin[row])
        if columns.elements.kind[element] == kinds.ASSIGN:
            yield from ((row, *each) for each in _assigned(columns, element, int(end[row])))
        elif columns.elements.kind[element] == kinds.VALUE:
            value = columns.value_of(element)
            if isinstance(value, dict) and isinstance(value.get("partitions"), int):
                yield row, str(value.get("topic")), value["partitions"]


def _assigned(columns: Columns, begin: int, end: int) -> Iterator[tuple[str, int]]:
    """Topics of which all partitions from 0 on were assigned, and how many they are."""
    indexes: dict[str, set[int]] = {}
    for element in range(begin, end):
        place = place_named(columns.key_of(int(columns.elements.key[element])))
        if place is not None:
            indexes.setdefault(place.topic, set()).add(place.partition)
    for topic, own in indexes.items():
        if own == set(range(len(own))):
            yield topic, len(own)


def partitioners(columns: Columns) -> dict[int, str]:
    """By process the name of what chooses its partitions, as the client told it."""
    begin, end = columns.spans
    wanted = columns.has_f("partitioner") & (columns.outcome == OK) & (begin < end)
    return {
        int(columns.ops.process[row]): str(columns.value_of(int(begin[row])))
        for row in np.flatnonzero(wanted).tolist()
    }
