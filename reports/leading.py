"""Who led each partition, who decided, and how many replicas were out of sync, over time.

Of a simulated run its trace tells, to the nanosecond. Of any other run it is what the nodes said
when they were asked (`cluster.jsonl`), so it may be half a second late.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from harness.store.inside import MissingError, open_inside

NAME = "cluster.jsonl"
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Reign:
    """A node led a partition from here to there."""

    node: str
    epoch: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Change:
    """A partition got another leader."""

    key: str
    before: Reign
    after: Reign

    @property
    def time_ns(self) -> int:
        return self.after.begin_ns


@dataclass(frozen=True, slots=True)
class Missing:
    """So many replicas of a partition are out of sync, from now on."""

    time_ns: int
    key: str
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class Leading:
    reigns: Mapping[str, Sequence[Reign]] = field(default_factory=dict)
    """By key."""
    controllers: Sequence[Reign] = ()
    missing: Sequence[Missing] = ()
    clocks: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    """By node: how many seconds its clock was ahead, as it was measured, and when."""
    unread: int = 0
    """Lines of the file that say nothing that can be understood."""

    @property
    def elections(self) -> int:
        """How often another node came to lead a partition."""
        return sum(len(self.changes(key)) for key in self.reigns)

    def of_key(self, key: str) -> Sequence[Reign]:
        return self.reigns.get(log_of(key), ())

    def changes(self, key: str) -> list[Change]:
        """Each time another node came to lead the key's partition."""
        return [
            Change(log_of(key), one, other)
            for one, other in pairwise(self.of_key(key))
            if one.node != other.node
        ]

    @property
    def was_out_of_sync(self) -> bool:
        return any(each.count for each in self.missing)

    def out_of_sync(self) -> Iterator[tuple[int, int]]:
        """When, and how many replicas of all partitions together from then on."""
        now: dict[str, int] = {}
        for each in self.missing:
            now[each.key] = each.count
            yield each.time_ns, sum(now.values())


def log_of(key: str) -> str:
    """The partition of a key of the history: `register-1` of the register `register-1/r0`."""
    log, slash, _ = key.partition("/")
    return log if slash and log.rpartition("-")[2].isdigit() else key


def load_leading(directory: Path, end_ns: int) -> Leading | None:
    """What was asked of the nodes; None if nobody asked. Lines that make no sense are counted, but
    for one that is torn: that is the end of a run that was killed."""
    try:
        stored = open_inside(directory, NAME)
    except MissingError:
        return None
    told = _Told()
    unread = 0
    with TextIOWrapper(stored, "utf-8", errors="replace") as file:
        for line in file:
            try:
                told.add(json.loads(line))
            except (ValueError, LookupError, TypeError, RecursionError):
                unread += line.endswith("\n")
    reigns = {key: reigns_of(own, end_ns) for key, own in told.led.items()}
    return Leading(
        reigns, reigns_of(told.controllers, end_ns), told.missing, told.clocks, unread=unread
    )


@dataclass(slots=True)
class _Told:
    """What the lines say, one after the other."""

    led: dict[str, list[tuple[int, str | None, int]]] = field(default_factory=dict)
    controllers: list[tuple[int, str | None, int]] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    clocks: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, row: Any) -> None:
        """Anything else than a line of ours is a LookupError, TypeError or ValueError."""
        time_ns = _count(row["time_ns"])
        if "key" in row:
            epoch, leader = _epoch(row["epoch"]), _node(row["leader"])
            isr, replicas = row["isr"], row["replicas"]
            if not isinstance(isr, list) or not isinstance(replicas, list):
                raise TypeError("replicas come in lists")
            out = _count(len(replicas) - len(isr))
            key = str(row["key"])
            self.led.setdefault(key, []).append((time_ns, leader, epoch))
            self.missing.append(Missing(time_ns, key, out, len(replicas)))
        elif "controller" in row:
            self.controllers.append((time_ns, _node(row["controller"]), _epoch(row["epoch"])))
        else:
            ahead, node = float(row["clock_offset_s"]), _node(row["node"])
            if node is None or not isfinite(ahead):
                raise ValueError("a clock is some node's, and shows some time")
            self.clocks.setdefault(node, []).append((time_ns, ahead))


def _epoch(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no epoch")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _INT64:
        raise ValueError(f"{value!r} is no count")
    return value


def _node(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is no node")
    return value


def reigns_of(changes: Iterable[tuple[int, str | None, int]], end_ns: int) -> list[Reign]:
    """From when, who (None: nobody), and in which epoch; each lasts until the next."""
    found: list[Reign] = []
    told = [*changes, (end_ns, None, -1)]
    for (begin_ns, node, epoch), (until_ns, *_) in pairwise(told):
        last = found[-1] if found else None
        if node is None:
            continue
        if last is not None and (last.node, last.epoch, last.end_ns) == (node, epoch, begin_ns):
            found[-1] = Reign(node, epoch, last.begin_ns, max(until_ns, begin_ns))
        else:
            found.append(Reign(node, epoch, begin_ns, max(until_ns, begin_ns)))
    return found
