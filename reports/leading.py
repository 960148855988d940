"""Who led each partition, who decided, and how many replicas were out of sync, over time.

Of a simulated run its trace tells, to the nanosecond. Of any other run it is what the nodes said
when they were asked (`cluster.jsonl`), so it may be half a second late.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

NAME = "cluster.jsonl"


@dataclass(frozen=True, slots=True)
class Reign:
    """A node led a partition from here to there."""

    node: str
    epoch: int
    begin_ns: int
    end_ns: int


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

    @property
    def elections(self) -> int:
        """How often another node came to lead a partition."""
        return sum(
            one.node != other.node for own in self.reigns.values() for one, other in pairwise(own)
        )

    @property
    def was_out_of_sync(self) -> bool:
        return any(each.count for each in self.missing)

    def out_of_sync(self) -> Iterator[tuple[int, int]]:
        """When, and how many replicas of all partitions together from then on."""
        now: dict[str, int] = {}
        for each in self.missing:
            now[each.key] = each.count
            yield each.time_ns, sum(now.values())


def load_leading(directory: Path, end_ns: int) -> Leading | None:
    """What was asked of the nodes; None if nobody asked. A line that is torn is the last."""
    path = directory / NAME
    if not path.is_file():
        return None
    led: dict[str, list[tuple[int, str | None, int]]] = {}
    controllers: list[tuple[int, str | None, int]] = []
    missing: list[Missing] = []
    clocks: dict[str, list[tuple[int, float]]] = {}
    for row in _rows(path):
        time_ns = int(row["time_ns"])
        if "key" in row:
            key, isr, replicas = str(row["key"]), row["isr"], row["replicas"]
            led.setdefault(key, []).append((time_ns, row["leader"], int(row["epoch"])))
            missing.append(Missing(time_ns, key, len(replicas) - len(isr), len(replicas)))
        elif "controller" in row:
            controllers.append((time_ns, row["controller"], int(row["epoch"])))
        elif "clock_offset_s" in row:
            clocks.setdefault(row["node"], []).append((time_ns, float(row["clock_offset_s"])))
    reigns = {key: reigns_of(own, end_ns) for key, own in led.items()}
    return Leading(reigns, reigns_of(controllers, end_ns), missing, clocks)


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


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                return
            if isinstance(row, dict) and "time_ns" in row:
                yield row
