"""A nemesis: one kind of fault, chosen, injected with proof, and healed.

What it chooses is data (harness.schedule.faults), with every target named, so that a run can be
written down and played again. Choosing may look at the cluster; injecting and healing look at
nothing but the fault, and at what else is in force.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Protocol, TypeVar

from harness.cluster import Cluster
from harness.cluster.capabilities import ClientProcesses, Node
from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import EVERY_PART, Part
from harness.errors import EnvironmentFailure
from harness.registry import KAFKA
from harness.schedule.faults import (
    BrokerLeaves,
    DiskError,
    DiskFull,
    DiskReadOnly,
    Fault,
    Kill,
    PowerLoss,
    Stop,
)

_HOLDING_DOWN = (Kill, PowerLoss, Stop, BrokerLeaves, DiskError, DiskFull, DiskReadOnly)
_Fault = TypeVar("_Fault", bound=Fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a fault is due and how it is called; all else is the nemesis's choice."""

    nemesis: str
    name: str
    at_ms: float
    for_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a plan gives its nemeses to strike, known before anything is started."""

    nodes: tuple[Node, ...]
    clients: int
    topic_configs: Mapping[str, Mapping[str, str]]
    """Of each topic of the workload."""
    is_polled: bool
    """Whether the clients poll under load, so that the run knows how far each log was read."""
    replication_factor: int
    min_insync_replicas: int
    racks: Mapping[Node, str]
    unsafe_faults: bool
    length_ms: float
    """Of the load."""
    system: str = "reference"
    parts: frozenset[Part] = EVERY_PART
    """What the system has."""
    protocol: str = KAFKA
    flushes: bool = False
    """Whether the system promises that what it acknowledged survives a loss of power."""
    members: tuple[str, ...] = ()
    """Clients of the workload that are members of consumer groups: c2, c3, ..."""
    groups: tuple[str, ...] = ()
    """Consumer groups of the workload."""

    @property
    def spare_replicas(self) -> int:
        """How many replicas of a partition may lose data at a time."""
        if self.unsafe_faults:
            return self.replication_factor
        return max(0, self.replication_factor - self.min_insync_replicas)


def _nothing_read() -> Mapping[str, int]:
    return {}


def _not_told(fault: Fault, node: Node) -> None:
    pass


@dataclass(slots=True, kw_only=True)
class Scene:
    """What a nemesis may know when it chooses."""

    cluster: Cluster
    clients: ClientProcesses | None = None
    """Of the run, once they have been started."""
    topics: tuple[str, ...]
    """Of the workload: leaders and in-sync replicas are theirs."""
    members: tuple[str, ...] = ()
    """Clients that are members of consumer groups."""
    groups: tuple[str, ...] = ()
    """Consumer groups of the workload."""
    replication_factor: int = 3
    min_insync_replicas: int = 2
    topic_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What each topic was created with; a nemesis that changes it for a while puts it back."""
    racks: Mapping[Node, str] = field(default_factory=dict)
    read_to: Callable[[], Mapping[str, int]] = _nothing_read
    """By key (`t-0`): no client will ask for a record below this offset again."""
    on_back: Callable[[Fault, Node], None] = _not_told
    """Called when a node runs again that a fault took down, and the fault goes on."""
    damaged: set[str] = field(default_factory=set)
    """Nodes that lost data and are not back in every ISR."""
    unsafe_faults: bool = False
    in_force: dict[str, Fault] = field(default_factory=dict)
    """By name, from just before the deed until it is undone; kept by `begin` and `end`."""
    begun: int = 0
    """How many faults were begun until now."""
    accompanied: set[str] = field(default_factory=set)
    """Those that had another fault beside them, at any time."""
    ending: set[str] = field(default_factory=set)
    """Those of them that are being undone."""
    links: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whoever changes what is reachable holds it, so that each looks at its own doing only."""
    disks: asyncio.Lock = field(default_factory=asyncio.Lock)
    clocks: asyncio.Lock = field(default_factory=asyncio.Lock)
    _starts: dict[Node, asyncio.Lock] = field(default_factory=dict)

    def begin(self, fault: Fault) -> None:
        """Just before the deed."""
        self.begun += 1
        if self.in_force:
            self.accompanied.update([fault.name, *self.in_force])
        self.in_force[fault.name] = fault

    def end(self, fault: Fault) -> None:
        """Once it is undone."""
        self.in_force.pop(fault.name, None)
        self.ending.discard(fault.name)

    def start_of(self, node: Node) -> asyncio.Lock:
        """Two who start one node wait for each other, and all for nobody else."""
        return self._starts.setdefault(node, asyncio.Lock())

    def others(self, fault: Fault, kind: type[_Fault]) -> list[_Fault]:
        """Of this kind, in force beside this one and to stay so."""
        return [
            other
            for name, other in self.in_force.items()
            if name != fault.name and name not in self.ending and isinstance(other, kind)
        ]

    def is_held_down(self, node: Node, but: Fault) -> bool:
        """Whether another fault wants the node to be down: the last of them starts it again.

        Without power nothing starts, so whoever brings the power back starts the node, too. Nor is
        a broker ready on a disk that takes no writes: whoever mends the disk starts the node.
        """
        powerless = [each for each in self.in_force.values() if isinstance(each, PowerLoss)]
        waiting = [] if isinstance(but, PowerLoss) else powerless
        return any(
            getattr(other, "node", None) == node
            for other in (
                *(each for kind in _HOLDING_DOWN for each in self.others(but, kind)),
                *waiting,
            )
        )


class NothingToStrikeError(Exception):
    """The cluster is in no state for this fault now; told in the history, and no fault of ours."""


class LapsedError(EnvironmentFailure):
    """What was to stay in force has not, as its nemesis finds when one is healed.

    By then nothing can be done about it, so the run is no better than unknown.
    """


class Nemesis(Protocol):
    """Its docstring's first sentence is what `harness nemeses` says of it."""

    name: str
    """As it was asked for, its variant and target included."""
    kinds: ClassVar[tuple[type[Fault], ...]]
    """What it can inject and heal."""
    variants: ClassVar[tuple[str, ...]]
    """The ways to do it; the dice choose where none is asked for."""
    needs: ClassVar[frozenset[Part]]
    """The parts of a system without which it cannot be done, whatever its target."""

    def __init__(self, name: str, variant: str, target: str) -> None:
        """ValueError for a target that it cannot aim at."""
        ...

    def why_not(self, cluster: Cluster) -> str | None:
        """Why this cluster cannot show it, in a sentence; None if it can."""
        ...

    def why_never(self, ground: Ground) -> str | None:
        """Why a run of such a plan has nothing for it to strike, ever, and what to try; or None.

        Only what is certain: a run that is refused for it could not have been valid.
        """
        ...

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        """With every target named; all of them for one stroke. Raises NothingToStrikeError."""
        ...

    async def inject(self, scene: Scene, fault: Fault) -> str:
        """Returns the proof that it took hold, in a sentence; raises FaultMissedError if not.

        NothingToStrikeError, too: between the choice and the deed the world goes on.
        """
        ...

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """Ends it and makes sure of that. Safe at any time, also before `inject`, also twice.

        LapsedError: it is healed, but it had ended before, or ended another with it.
        """
        ...


def missed(scene: Scene, fault: Fault, why: str) -> Exception:
    """For a deed that takes a cluster which works: beside other faults it may fail by their doing.

    Then nothing was struck. Alone it has no such excuse.
    """
    if fault.name in scene.accompanied:
        return NothingToStrikeError(f"{why}, beside another fault")
    return FaultMissedError(why)
