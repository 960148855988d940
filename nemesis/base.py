"""A nemesis: one kind of fault, chosen, injected with proof, and healed.

What it chooses is data (harness.schedule.faults), with every target named, so that a run can be
written down and played again. Choosing may look at the cluster; injecting and healing look at
nothing but the fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from harness.cluster import Cluster
from harness.schedule.faults import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a fault is due and how it is called; all else is the nemesis's choice."""

    name: str
    at_ms: float
    for_ms: float


@dataclass(slots=True, kw_only=True)
class Scene:
    """What a nemesis may know when it chooses."""

    cluster: Cluster
    topics: tuple[str, ...]
    """Of the workload: leaders and in-sync replicas are theirs."""
    replication_factor: int = 3
    min_insync_replicas: int = 2
    damaged: set[str] = field(default_factory=set)
    """Nodes that lost data and are not back in every ISR."""
    unsafe_faults: bool = False


class NothingToStrikeError(Exception):
    """The cluster is in no state for this fault now; told in the history, and no fault of ours."""


class Nemesis(Protocol):
    """Its docstring's first sentence is what `harness nemeses` says of it."""

    name: str

    def why_not(self, cluster: Cluster) -> str | None:
        """Why this cluster cannot show it, in a sentence; None if it can."""
        ...

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> Fault:
        """With every target named. Raises NothingToStrikeError."""
        ...

    async def inject(self, scene: Scene, fault: Fault) -> str:
        """Returns the proof that it took hold, in a sentence; raises FaultMissedError if not."""
        ...

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """Ends it and makes sure of that. Safe at any time, also before `inject`."""
        ...
