"""Everything a node is handed from outside: swap it, and the same broker runs in a simulator."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import Protocol

from broker.disk.interface import Disk
from broker.network.interface import Network

current_node: ContextVar[str] = ContextVar("current_node", default="-")
"""The node that the running task belongs to; set once, at the node's root task."""


class WallClock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch; may jump. Durations are measured by the loop's time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The loop is the fifth thing: `asyncio.get_running_loop()` gives time and tasks."""

    disks: Mapping[str, Disk]  # one for each entry of log.dirs, by that entry's text
    network: Network
    clock: WallClock
    random: Random
    boot_id: str = ""
    """Another one after each start of the system below; empty when that is not known."""
