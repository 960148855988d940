"""What every fault that takes a node down has in common: who runs, and how one comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.base import RunningProcess
from harness.cluster.capabilities import Node
from harness.cluster.errors import FaultMissedError, NodeFailedError, NotInTimeError
from harness.cluster.parts import NO_PARTS, Part, the
from harness.schedule.faults import Fault, Kill, Pause, PowerLoss
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene
from nemesis.targets import check_target, resolve, why_no_target

ANYBODY = ("one", "minority", "majority", "all", "leader", "controller")
ONE_NODE = ("one", "leader", "controller")


@dataclass(frozen=True, slots=True)
class OfProcesses:
    """What the nemeses share that strike the brokers' processes in one way, at any target."""

    name: str
    variant: str
    target: str
    variants: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[Part]] = NO_PARTS

    def __post_init__(self) -> None:
        check_target(self.target)

    def why_not(self, cluster: Cluster) -> str | None:
        return why_no_process(cluster)

    def why_never(self, ground: Ground) -> str | None:
        return why_no_target(self.target, ground)

    async def _struck(self, scene: Scene, dice: Random, among: Sequence[str]) -> list[Node]:
        return await running(scene, await resolve(scene, self.target, dice, among=among))


def each_by_itself(
    kind: type[Kill] | type[Pause] | type[PowerLoss], nodes: Sequence[Node], moment: Moment
) -> tuple[Fault, ...]:
    """One fault for each node, so that each is proved and healed by itself."""
    return tuple(
        kind(name=f"{moment.name}/{node}", at_ms=moment.at_ms, for_ms=moment.for_ms, node=node)
        for node in nodes
    )


def why_no_process(cluster: Cluster) -> str | None:
    return cluster.why_not("process") if cluster.process is None else None


async def running(scene: Scene, nodes: Sequence[Node]) -> list[Node]:
    """Those of them that run; NothingToStrikeError if none does."""
    process = the(scene.cluster.process)
    found = [node for node in nodes if await process.is_running(node)]
    if not found:
        raise NothingToStrikeError(f"{', '.join(nodes)}: down already")
    return found


async def take_down(scene: Scene, node: Node) -> str:
    """By a kill; the proof is in the sentence."""
    process = await present(scene, node)
    await the(scene.cluster.process).kill(node)
    if await process.is_running():
        raise FaultMissedError(f"{node} still runs after it was killed")
    return f"the process of {node} is gone"


async def present(scene: Scene, node: Node) -> RunningProcess:
    """The one that runs now: another fault's end may start the next before one has looked."""
    process = scene.cluster.system.process(node)
    if process is None or not await process.is_running():
        raise NothingToStrikeError(f"{node} is down already")
    return process


async def stop(scene: Scene, node: Node) -> str:
    """Cleanly, as far as it comes with that; how it ended is in the word."""
    process = await present(scene, node)
    manner = "stopped"
    try:
        await the(scene.cluster.process).stop(node)
    except (NodeFailedError, NotInTimeError):
        # It found no way to end cleanly, with a majority away say, and was killed.
        manner = "killed in the end"
    if await process.is_running():
        raise FaultMissedError(f"{node} was asked to stop and still runs")
    return manner


async def bring_back(scene: Scene, node: Node, fault: Fault) -> None:
    """Unless another fault wants it down still; the last of them does it."""
    process = the(scene.cluster.process)
    if scene.is_held_down(node, but=fault):
        return
    async with scene.start_of(node):
        await process.start(node)
    if not await process.is_running(node):
        raise NodeFailedError(f"{node} was started and does not run")
