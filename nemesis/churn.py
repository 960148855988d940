"""churn: kills and pauses members of consumer groups, or keeps them from polling."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import ClientProcesses
from harness.cluster.errors import FaultMissedError, NotInTimeError
from harness.cluster.parts import NO_PARTS, Part, the
from harness.cluster.waiting import wait_until
from harness.schedule.faults import Fault, IdleClient, KillClient, PauseClient
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene
from nemesis.client import ClientFaults
from nemesis.targets import majority_of, minority_of

TARGETS = ("one", "minority", "majority")
_IDLE_WITHIN_S = 15.0
"""The current operation ends or times out first."""


@dataclass(frozen=True, slots=True)
class Churn:
    """Kills and pauses members of consumer groups, keeps them from polling, or makes them leave."""

    name: str
    variant: str
    target: str
    kinds: ClassVar[tuple[type[Fault], ...]] = (KillClient, PauseClient, IdleClient)
    variants: ClassVar[tuple[str, ...]] = ("kill", "pause", "slow", "leave")
    needs: ClassVar[frozenset[Part]] = NO_PARTS

    def __post_init__(self) -> None:
        if self.target and self.target not in TARGETS:
            raise ValueError(
                f"unknown target {self.target!r} of churn; choose one of {', '.join(TARGETS)}"
            )

    def why_not(self, cluster: Cluster) -> str | None:
        return None

    def why_never(self, ground: Ground) -> str | None:
        if ground.members:
            return None
        return "the workload has no members of consumer groups; try -w group"

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        variant = self.variant or dice.choice(self.variants)
        return tuple(
            _fault(variant, moment, client) for client in await self._aimed_at(scene, dice)
        )

    async def _aimed_at(self, scene: Scene, dice: Random) -> list[str]:
        if scene.clients is None:
            raise NothingToStrikeError("no client has started yet")
        word = self.target or dice.choice(TARGETS)
        count = {
            "one": 1,
            "minority": minority_of(len(scene.members)),
            "majority": majority_of(len(scene.members)),
        }[word]
        drawn = sorted(dice.sample(scene.members, count), key=scene.members.index)
        alive = [client for client in drawn if await scene.clients.is_running(client)]
        if not alive:
            raise NothingToStrikeError(f"not running: {', '.join(drawn)}")
        return alive

    async def inject(self, scene: Scene, fault: Fault) -> str:
        if isinstance(fault, IdleClient):
            return await _idle(the(scene.clients), fault)
        return await self._client_faults().inject(scene, fault)

    async def heal(self, scene: Scene, fault: Fault) -> None:
        if not isinstance(fault, IdleClient):
            await self._client_faults().heal(scene, fault)
        elif scene.clients is not None and not scene.clients.is_over:
            others = scene.others(fault, IdleClient)
            if all(other.client != fault.client for other in others):
                await scene.clients.wake(fault.client)

    def _client_faults(self) -> ClientFaults:
        return ClientFaults(self.name, "", "")


def _fault(variant: str, moment: Moment, client: str) -> Fault:
    name, at_ms, for_ms = f"{moment.name}/{client}", moment.at_ms, moment.for_ms
    match variant:
        case "kill":
            return KillClient(name=name, at_ms=at_ms, for_ms=for_ms, client=client)
        case "pause":
            return PauseClient(name=name, at_ms=at_ms, for_ms=for_ms, client=client)
        case _:
            leaves = variant == "leave"
            return IdleClient(name=name, at_ms=at_ms, for_ms=for_ms, client=client, leaves=leaves)


async def _idle(clients: ClientProcesses, fault: IdleClient) -> str:
    client = fault.client
    if not await clients.is_running(client):
        raise NothingToStrikeError(f"{client} is not running")
    await clients.idle(client, leaves=fault.leaves)

    async def is_idle() -> bool:
        return await clients.is_idle(client)

    try:
        await wait_until(is_idle, within_s=_IDLE_WITHIN_S, what=f"{client} is idle")
    except NotInTimeError as late:
        await clients.wake(client)
        raise FaultMissedError(f"{client} still performs operations: {late}") from late
    return f"{client} has left its group and is idle" if fault.leaves else f"{client} is idle"
