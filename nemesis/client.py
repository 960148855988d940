"""client: kills or pauses client processes, or cuts the clients off from every node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import ClientProcesses
from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import NO_PARTS, Part, the
from harness.schedule.faults import Cut, Fault, KillClient, PauseClient, both_ways
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene
from nemesis.partition import PartitionFaults
from nemesis.targets import majority_of, minority_of

TARGETS = ("one", "minority", "majority", "all")
_NAMES = re.compile(r"c[1-9]\d*(\+c[1-9]\d*)*")
_OTHERWISE = "to cut them off from one node, use partition:clients@n1"


@dataclass(frozen=True, slots=True)
class ClientFaults:
    """Kills or pauses the processes of clients, or cuts all clients off from every node."""

    name: str
    variant: str
    target: str
    kinds: ClassVar[tuple[type[Fault], ...]] = (KillClient, PauseClient, Cut)
    variants: ClassVar[tuple[str, ...]] = ("kill", "pause", "cut")
    needs: ClassVar[frozenset[Part]] = NO_PARTS

    def __post_init__(self) -> None:
        if self.variant == "cut" and self.target:
            raise ValueError(f"client:cut takes no target, it cuts off all clients; {_OTHERWISE}")
        if self.target and self.target not in TARGETS and _NAMES.fullmatch(self.target) is None:
            raise ValueError(
                f"unknown target {self.target!r} of client; "
                f"choose one of {', '.join(TARGETS)}, or clients such as c1+c3"
            )

    def why_not(self, cluster: Cluster) -> str | None:
        return _why_no_cut(cluster) if self.variant == "cut" else None

    def why_never(self, ground: Ground) -> str | None:
        if not self.target or self.target in TARGETS:
            return None
        for name in self.target.split("+"):
            if int(name[1:]) > ground.clients:
                return (
                    f"unknown client {name}; the clients are c1 to c{ground.clients}; "
                    "try a larger --concurrency"
                )
        return None

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        variant = self.variant or dice.choice(self._possible(scene))
        if variant == "cut":
            return (_cut_off(scene, moment),)
        kind = KillClient if variant == "kill" else PauseClient
        return tuple(
            kind(
                name=f"{moment.name}/{client}",
                at_ms=moment.at_ms,
                for_ms=moment.for_ms,
                client=client,
            )
            for client in await self._aimed_at(scene, dice)
        )

    def _possible(self, scene: Scene) -> list[str]:
        # A cut strikes all clients, so it is not drawn if the target names some of them.
        is_cut_possible = not self.target and _why_no_cut(scene.cluster) is None
        return [each for each in self.variants if each != "cut" or is_cut_possible]

    async def _aimed_at(self, scene: Scene, dice: Random) -> list[str]:
        if scene.clients is None:
            raise NothingToStrikeError("no client has started yet")
        names = scene.clients.names
        chosen = _chosen(self.target or dice.choice(TARGETS), names, dice)
        alive = [name for name in chosen if await scene.clients.is_running(name)]
        if not alive:
            raise NothingToStrikeError(f"not running: {', '.join(chosen)}")
        return alive

    async def inject(self, scene: Scene, fault: Fault) -> str:
        match fault:
            case KillClient(client=client):
                return await _kill(the(scene.clients), client)
            case PauseClient(client=client):
                return await _pause(the(scene.clients), client)
            case _:
                return await self._partition().inject(scene, fault)

    async def heal(self, scene: Scene, fault: Fault) -> None:
        clients = scene.clients
        if isinstance(fault, Cut):
            await self._partition().heal(scene, fault)
        elif clients is None or clients.is_over:
            return
        elif isinstance(fault, KillClient):
            if _is_the_last(scene, fault):
                await _start(clients, fault.client)
        elif isinstance(fault, PauseClient) and _is_the_last(scene, fault):
            await clients.resume(fault.client)
            if await clients.is_paused(fault.client):
                raise FaultMissedError(f"{fault.client} is still paused after it was resumed")

    def _partition(self) -> PartitionFaults:
        return PartitionFaults(self.name, "clients", "")


def _why_no_cut(cluster: Cluster) -> str | None:
    return PartitionFaults("partition:clients", "clients", "").why_not(cluster)


def _is_the_last(scene: Scene, fault: KillClient | PauseClient) -> bool:
    return all(other.client != fault.client for other in scene.others(fault, type(fault)))


def _cut_off(scene: Scene, moment: Moment) -> Cut:
    clients, nodes = the(scene.cluster.place.client_host), scene.cluster.nodes
    links = both_ways(*((clients, node) for node in nodes))
    return Cut(name=moment.name, at_ms=moment.at_ms, for_ms=moment.for_ms, links=links)


def _chosen(word: str, names: Sequence[str], dice: Random) -> list[str]:
    match word:
        case "one":
            count = 1
        case "minority":
            count = minority_of(len(names))
        case "majority":
            count = majority_of(len(names))
        case "all":
            count = len(names)
        case _:
            wanted = word.split("+")
            unknown = [name for name in wanted if name not in names]
            if unknown:
                raise NothingToStrikeError(
                    f"unknown client {unknown[0]}; the run has {len(names)} clients"
                )
            return wanted
    drawn = dice.sample(names, count)
    return [name for name in names if name in drawn]


async def _kill(clients: ClientProcesses, client: str) -> str:
    if not await clients.is_running(client):
        raise NothingToStrikeError(f"{client} is not running")
    process = clients.process(client)
    # The kill also ends the pause of another fault.
    manner = ", which also ended its pause" if await clients.is_paused(client) else ""
    await clients.kill(client)
    if await clients.is_running(client):
        raise FaultMissedError(f"{client} still runs after it was killed")
    return f"{process} of {client} has ended{manner}"


async def _start(clients: ClientProcesses, client: str) -> None:
    before = clients.process(client)
    was_gone = not await clients.is_running(client)
    await clients.start(client)
    if not await clients.is_running(client):
        raise FaultMissedError(f"{client} does not run after it was started")
    if was_gone and clients.process(client) == before:
        raise FaultMissedError(f"{client} still has its old process after it was started")


async def _pause(clients: ClientProcesses, client: str) -> str:
    if not await clients.is_running(client):
        raise NothingToStrikeError(f"{client} cannot be paused: it is not running")
    await clients.pause(client)
    if not await clients.is_running(client):
        raise NothingToStrikeError(f"{client} ended before it was paused")
    if not await clients.is_paused(client):
        raise FaultMissedError(f"{client} still runs after it was paused")
    return f"every thread of {client} is stopped, {clients.process(client)}"
