"""How long a simulated disk takes, and at which of its operations a node crashes.

`DiskPoints` is what `MemoryDisk` awaits before an operation and after it has taken effect. All
disks of a node share it, so that "the 7th fdatasync of n1" means the same wherever it happens.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from harness.schedule.crash_points import CrashPoint
from harness.sim.loop import SimLoop
from harness.sim.trace import Trace

_KINDS = {"fdatasync": "fsync"}


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """`shortest_ns`, and on top something exponential with this mean."""

    shortest_ns: int
    mean_extra_ns: int


_SYNC = OperationTimes(200_000, 800_000)
_QUICK = OperationTimes(20_000, 30_000)
_TIMES = {
    "fdatasync": _SYNC,
    "sync_directory": _SYNC,
    "warm": OperationTimes(50_000, 100_000),
    "write_again": OperationTimes(50_000, 100_000),
}


class DiskPoints:
    def __init__(
        self,
        loop: SimLoop,
        trace: Trace,
        node: str,
        *,
        crash_points: Iterable[CrashPoint] = (),
        crash: Callable[[CrashPoint], None],
    ) -> None:
        self._loop = loop
        self._trace = trace
        self._node = node
        self._crash = crash
        self._crash_points = {
            (point.operation, point.nth, point.when): point
            for point in crash_points
            if point.node == node
        }

    @property
    def unmet(self) -> tuple[CrashPoint, ...]:
        """The crash points at which nothing has crashed yet."""
        return tuple(self._crash_points.values())

    async def before(self, operation: str, path: str) -> int:
        """Gives the operation's number: the first of its kind on the node is 1."""
        stream = self._loop.decisions.of(f"disk_{operation}", self._node)
        draw = stream.next()
        nth = stream.ordinal
        await self._crash_if_due(operation, nth, "before")
        times = _TIMES.get(operation, _QUICK)
        delay_ns = times.shortest_ns - times.mean_extra_ns * math.log1p(-draw)
        await asyncio.sleep(delay_ns / 1e9)
        return nth

    async def after(self, operation: str, path: str, nth: int) -> None:
        self._trace.emit(_KINDS.get(operation, operation), self._node, offset=nth, detail=path)
        await self._crash_if_due(operation, nth, "after")

    async def _crash_if_due(
        self, operation: str, nth: int, when: Literal["before", "after"]
    ) -> None:
        point = self._crash_points.pop((operation, nth, when), None)
        if point is not None:
            self._crash(point)
            # The process is gone: whoever waits here waits for ever.
            await self._loop.create_future()
