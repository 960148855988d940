"""What a log holds, by its replicas, and where these contradict one another.

The replica with the latest leader epoch at its end, the longest of those, stands for the log, and
speaks for it where enough replicas are there and all of them can be read: one that cannot may have
been the latest. Two replicas that agree on one offset, epoch and all, agree on everything before it
(log matching): where they do not, one of them has not been brought in line with a leader that it
followed. The end of a replica that was left behind may differ from the log without any harm.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from checkers.segments.batches import Record
from checkers.segments.replicas import Replica
from harness.client.payload import decode


class Fate(Enum):
    PLAIN = "stored"
    COMMITTED = "stored and committed"
    ABORTED = "stored, and aborted"
    OPEN = "stored in a transaction that never ended"


@dataclass(frozen=True, slots=True)
class Stored:
    value: Any
    fate: Fate
    epoch: int
    raw: Record


@dataclass(frozen=True, slots=True)
class Log:
    name: str
    nodes: tuple[str, ...]
    by: str
    """The node whose replica stands for the log."""
    start: int
    end: int
    records: dict[int, Stored]
    is_compacted: bool
    """Whether records have keys, so that some may be gone for good reason."""
    is_whole: bool
    """Whether every replica that is there can be read from end to end."""

    def holds(self, offset: int) -> bool:
        """Whether the log can be asked for this offset at all."""
        return self.start <= offset < self.end


@dataclass(frozen=True, slots=True)
class Divergence:
    log: str
    offset: int
    nodes: tuple[str, str]
    texts: tuple[str, str]
    agreed: int
    """An offset at or above, on which the two agree to have had the same leader."""


def logs_of(replicas: Iterable[Replica]) -> dict[str, Log]:
    by_log: dict[str, list[Replica]] = defaultdict(list)
    for replica in replicas:
        by_log[replica.log].append(replica)
    return {name: _log(name, mine) for name, mine in sorted(by_log.items())}


def _log(name: str, replicas: list[Replica]) -> Log:
    # Of equals the first by name, so that the same files tell the same story.
    best = max(replicas, key=lambda one: one.standing)
    records = records_of(best)
    return Log(
        name=name,
        nodes=tuple(one.node for one in replicas),
        by=best.node,
        start=best.start,
        end=best.end,
        records=records,
        is_compacted=any(stored.raw.key is not None for stored in records.values()),
        is_whole=all(one.is_whole for one in replicas),
    )


def records_of(replica: Replica) -> dict[int, Stored]:
    """By offset. A marker decides for all records of its producer since the one before."""
    found: dict[int, Stored] = {}
    undecided: dict[int, list[int]] = defaultdict(list)
    for batch in replica.batches:
        if batch.marker is not None:
            for offset in undecided.pop(batch.producer, ()):
                fate = Fate.COMMITTED if batch.marker else Fate.ABORTED
                stored = found[offset]
                found[offset] = Stored(stored.value, fate, stored.epoch, stored.raw)
        for record in batch.records:
            fate = Fate.OPEN if batch.transactional else Fate.PLAIN
            value = _value(record, replica.log)
            found[record.offset] = Stored(value, fate, batch.epoch, record)
            if batch.transactional:
                undecided[batch.producer].append(record.offset)
    return found


def _value(record: Record, log: str) -> Any:
    """As the history tells it: one of our values, or whatever JSON it is."""
    value = decode(record.value, log)
    if isinstance(value, str) and value.startswith("misplaced") and record.key is not None:
        # Where records have names, these are part of their place.
        value = decode(record.value, f"{log}/{record.key.decode(errors='replace')}")
    if isinstance(value, str) and value.startswith("foreign") and record.value is not None:
        try:
            return json.loads(record.value)
        except ValueError:
            return value
    return value


def divergences(replicas: Iterable[Replica]) -> list[Divergence]:
    """The first contradiction between each two replicas of a log."""
    by_log: dict[str, list[Replica]] = defaultdict(list)
    for replica in replicas:
        by_log[replica.log].append(replica)
    found = []
    for mine in by_log.values():
        best = max(mine, key=lambda one: one.standing)
        for other in mine:
            if other is not best:
                found += _between(best, other)
    return found


def _between(one: Replica, other: Replica) -> list[Divergence]:
    ours, theirs = _contents(one), _contents(other)
    both = sorted(ours.keys() & theirs.keys())
    agreed = [offset for offset in both if ours[offset][0] == theirs[offset][0]]
    if not agreed:
        return []
    last = agreed[-1]
    floor = max(one.start, other.start)
    for offset in sorted(ours.keys() | theirs.keys()):
        if not floor <= offset <= last or ours.get(offset) == theirs.get(offset):
            continue
        here, there = ours.get(offset), theirs.get(offset)
        present = here if there is None else there if here is None else None
        # Replicas are compacted each for itself, and take nothing that has no key.
        unread = one.damage or other.damage or one.holes or other.holes
        if present is not None and (present[2] or unread):
            continue
        texts = tuple("nothing" if each is None else each[1] for each in (here, there))
        return [Divergence(one.log, offset, (one.node, other.node), (texts[0], texts[1]), last)]
    return []


def _contents(replica: Replica) -> dict[int, tuple[int, str, bool]]:
    """By offset: the epoch, the record as text, and whether compaction may take it."""
    found: dict[int, tuple[int, str, bool]] = {}
    for batch in replica.batches:
        for record in batch.records:
            text = "null" if record.value is None else record.value.decode(errors="replace")
            found[record.offset] = (batch.epoch, text, record.key is not None)
        if batch.control:
            found[batch.base] = (batch.epoch, f"marker {batch.marker}", True)
    return found
