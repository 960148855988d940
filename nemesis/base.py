"""A nemesis: one kind of fault, chosen, injected with proof, and healed.

A fault is data (harness.schedule.faults) with every target named, so that a run can be stored and
played again. `choose` may query the cluster. `inject` and `heal` depend on the fault and on the
other faults in force, and on nothing else.
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
    """Time, length and name of a fault; the nemesis chooses the rest."""

    nemesis: str
    name: str
    at_ms: float
    for_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Possible targets of a plan's nemeses, known before anything is started."""

    nodes: tuple[Node, ...]
    clients: int
    topic_configs: Mapping[str, Mapping[str, str]]
    """Configuration of each topic of the workload."""
    is_polled: bool
    """Whether the clients poll under load, so that the run knows how far each log was read."""
    replication_factor: int
    min_insync_replicas: int
    racks: Mapping[Node, str]
    unsafe_faults: bool
    length_ms: float
    """Length of the load."""
    system: str = "reference"
    parts: frozenset[Part] = EVERY_PART
    """Parts that the system offers."""
    protocol: str = KAFKA
    flushes: bool = False
    """Whether the system promises that what it acknowledged survives a loss of power."""
    members: tuple[str, ...] = ()
    """Clients of the workload that are members of consumer groups: c2, c3, ..."""
    groups: tuple[str, ...] = ()
    """Consumer groups of the workload."""
    transactional_ids: tuple[str, ...] = ()
    """transactional.id of the workload's producers."""

    @property
    def spare_replicas(self) -> int:
        """Number of replicas of a partition that may lose data at a time."""
        if self.unsafe_faults:
            return self.replication_factor
        return max(0, self.replication_factor - self.min_insync_replicas)


def _nothing_read() -> Mapping[str, int]:
    return {}


def _not_told(fault: Fault, what: Node | Mapping[str, int]) -> None:
    pass


@dataclass(slots=True, kw_only=True)
class Scene:
    """The cluster, the workload and the faults in force, as nemeses see them."""

    cluster: Cluster
    clients: ClientProcesses | None = None
    """Client processes of the run, once they have started."""
    topics: tuple[str, ...]
    """Topics of the workload; the targets `leader`, `followers` and `isr` refer to them."""
    members: tuple[str, ...] = ()
    """Clients that are members of consumer groups."""
    groups: tuple[str, ...] = ()
    """Consumer groups of the workload."""
    transactional_ids: tuple[str, ...] = ()
    """transactional.id of the workload's producers."""
    replication_factor: int = 3
    min_insync_replicas: int = 2
    topic_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Configuration at creation; a nemesis that changes it restores these values."""
    racks: Mapping[Node, str] = field(default_factory=dict)
    read_to: Callable[[], Mapping[str, int]] = _nothing_read
    """By key (`t-0`), the offset below which no client reads again."""
    on_back: Callable[[Fault, Node], None] = _not_told
    """Called when a node runs again while the fault that took it down continues."""
    on_answers: Callable[[Fault, Mapping[str, int]], None] = _not_told
    """Called with the answers to the requests that a message fault hit, before it is healed."""
    damaged: set[str] = field(default_factory=set)
    """Nodes that lost data and are not back in every ISR."""
    unsafe_faults: bool = False
    in_force: dict[str, Fault] = field(default_factory=dict)
    """By name, from just before the injection until it is healed; kept by `begin` and `end`."""
    begun: int = 0
    """Number of faults begun so far."""
    accompanied: set[str] = field(default_factory=set)
    """Names of faults that overlapped with another fault at any time."""
    ending: set[str] = field(default_factory=set)
    """Names of faults that are being healed."""
    links: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while links change, so that each proof measures its own fault only."""
    disks: asyncio.Lock = field(default_factory=asyncio.Lock)
    clocks: asyncio.Lock = field(default_factory=asyncio.Lock)
    _starts: dict[Node, asyncio.Lock] = field(default_factory=dict)

    def begin(self, fault: Fault) -> None:
        """Record the fault just before it is injected."""
        self.begun += 1
        if self.in_force:
            self.accompanied.update([fault.name, *self.in_force])
        self.in_force[fault.name] = fault

    def end(self, fault: Fault) -> None:
        """Forget the fault once it is healed."""
        self.in_force.pop(fault.name, None)
        self.ending.discard(fault.name)

    def start_of(self, node: Node) -> asyncio.Lock:
        """Lock that serializes the starts of one node."""
        return self._starts.setdefault(node, asyncio.Lock())

    def others(self, fault: Fault, kind: type[_Fault]) -> list[_Fault]:
        """Other faults of this kind that are in force and are not being healed."""
        return [
            other
            for name, other in self.in_force.items()
            if name != fault.name and name not in self.ending and isinstance(other, kind)
        ]

    def is_held_down(self, node: Node, but: Fault) -> bool:
        """Whether another fault keeps the node down; the last such fault to heal starts it again.

        A host without power starts nothing, so the healing of the power loss starts the node. A
        broker is not ready on a disk that refuses writes, so the healing of the disk starts it.
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
    """The cluster offers no target for the fault now; recorded in the history as skipped."""


class LapsedError(EnvironmentFailure):
    """A fault ended too early, as its nemesis finds when it heals.

    It is too late to repair that, so the verdict of the run is at best unknown.
    """


class Nemesis(Protocol):
    """Interface of a nemesis; `harness nemeses` prints the first sentence of its docstring."""

    name: str
    """The name as given to `--nemesis`, with variant and target."""
    kinds: ClassVar[tuple[type[Fault], ...]]
    """Kinds of faults that it injects and heals."""
    variants: ClassVar[tuple[str, ...]]
    """Names after the colon; one is drawn if `--nemesis` names none."""
    needs: ClassVar[frozenset[Part]]
    """Parts that the system must offer, whatever the target."""

    def __init__(self, name: str, variant: str, target: str) -> None:
        """Raises ValueError for an unknown target."""
        ...

    def why_not(self, cluster: Cluster) -> str | None:
        """Reason why this cluster cannot inject it, or None."""
        ...

    def why_never(self, ground: Ground) -> str | None:
        """Reason why a run of such a plan never has a target, and what to try; or None.

        Only if this is certain: the run is refused for it.
        """
        ...

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        """The faults of one stroke, with every target named. Raises NothingToStrikeError."""
        ...

    async def inject(self, scene: Scene, fault: Fault) -> str:
        """Inject the fault and return the measured proof; raise FaultMissedError if it missed.

        Raises NothingToStrikeError if the target is gone since `choose`.
        """
        ...

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """End the fault and verify that it ended. Safe at any time, before `inject` and twice.

        Raises LapsedError if it is healed, but had ended before or ended another fault.
        """
        ...


def missed(scene: Scene, fault: Fault, why: str) -> Exception:
    """The error for a fault that needs a working cluster to be injected.

    If other faults were in force, they may be the cause, and the fault is skipped; otherwise it
    missed.
    """
    if fault.name in scene.accompanied:
        return NothingToStrikeError(f"{why}, while another fault was in force")
    return FaultMissedError(why)
