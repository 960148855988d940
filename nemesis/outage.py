"""Shared by all faults that take a node down: which nodes run, and how a node is restarted."""

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
    """Base of nemeses that strike broker processes, without variants and with any target."""

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
    """One fault per node, so that each is proved and healed separately."""
    return tuple(
        kind(name=f"{moment.name}/{node}", at_ms=moment.at_ms, for_ms=moment.for_ms, node=node)
        for node in nodes
    )


def why_no_process(cluster: Cluster) -> str | None:
    return cluster.why_not("process") if cluster.process is None else None


async def running(scene: Scene, nodes: Sequence[Node]) -> list[Node]:
    """The running ones of `nodes`; raises NothingToStrikeError if there is none."""
    process = the(scene.cluster.process)
    found = [node for node in nodes if await process.is_running(node)]
    if not found:
        raise NothingToStrikeError(f"already down: {', '.join(nodes)}")
    return found


async def take_down(scene: Scene, node: Node) -> str:
    """Kill the node and return the proof."""
    process = await present(scene, node)
    await the(scene.cluster.process).kill(node)
    if await process.is_running():
        raise FaultMissedError(f"{node} still runs after it was killed")
    return f"the process of {node} has ended"


async def present(scene: Scene, node: Node) -> RunningProcess:
    """The current process; the healing of another fault may start the next one meanwhile."""
    process = scene.cluster.system.process(node)
    if process is None or not await process.is_running():
        raise NothingToStrikeError(f"{node} is already down")
    return process


async def stop(scene: Scene, node: Node) -> str:
    """Stop the node, by a kill if a clean stop fails; returns how it ended."""
    process = await present(scene, node)
    manner = "stopped cleanly"
    try:
        await the(scene.cluster.process).stop(node)
    except (NodeFailedError, NotInTimeError):
        # Without a majority, for example, a broker cannot stop cleanly and is killed.
        manner = "was killed because it did not stop"
    if await process.is_running():
        raise FaultMissedError(f"{node} still runs after it was stopped")
    return manner


async def bring_back(scene: Scene, node: Node, fault: Fault) -> None:
    """Start the node, unless another fault keeps it down; then that fault's healing does."""
    process = the(scene.cluster.process)
    if scene.is_held_down(node, but=fault):
        return
    async with scene.start_of(node):
        await process.start(node)
    if not await process.is_running(node):
        raise NodeFailedError(f"{node} does not run after it was started")
