"""The budget of damage: the number of replicas of a partition that may have lost data at a time.

An acknowledged record is on at least `min.insync.replicas` replicas. So one replica of a partition
with three replicas and a minimum of two may be damaged, until it has copied what it lacks and is
back in the ISR. With `unsafe_faults` there is no budget, and loss is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from harness.cluster.base import PartitionState
from harness.cluster.capabilities import Node
from harness.errors import EnvironmentFailure
from harness.schedule.faults import BitFlip, DiskError, Fault, PowerLoss, TruncatedTail
from nemesis.base import Ground, NothingToStrikeError, Scene

DAMAGING: tuple[type[Fault], ...] = (PowerLoss, TruncatedTail, BitFlip, DiskError)


def why_never_affordable(ground: Ground) -> str | None:
    """Reason why no replica may be damaged in any run on this ground, or None."""
    if ground.spare_replicas:
        return None
    return (
        f"it damages replicas, and with min.insync.replicas={ground.min_insync_replicas} of "
        f"{ground.replication_factor} replicas none may be lost; try a larger "
        "--replication-factor, or --unsafe-faults"
    )


def may_damage(scene: Scene) -> bool:
    """Whether the configuration allows a damaged replica at all."""
    return scene.unsafe_faults or scene.replication_factor > scene.min_insync_replicas


async def affordable(scene: Scene, nodes: Sequence[Node], dice: Random) -> list[Node]:
    """The nodes that may be damaged in addition to the damaged ones, in a drawn order."""
    return await _claimed(scene, dice.sample(nodes, len(nodes)))


async def _claimed(scene: Scene, wanted: Sequence[Node]) -> list[Node]:
    if scene.unsafe_faults:
        return list(wanted)
    await count_the_mended(scene)
    partitions = await _partitions(scene)
    chosen: list[Node] = []
    for node in wanted:
        lost = {*scene.damaged, *chosen, node}
        if all(_spared(scene, lost, each) for each in partitions):
            chosen.append(node)
    if not chosen:
        raise NothingToStrikeError(_why_none(scene, wanted))
    # Claimed at once, because another nemesis may choose before this fault is injected.
    scene.damaged.update(chosen)
    return chosen


async def afford(scene: Scene, fault: Fault) -> None:
    """Raise NothingToStrikeError if this fault would exceed the budget.

    For a fault of a stored schedule: replicas may have been on other nodes in that run.
    """
    if isinstance(fault, DAMAGING):
        await _claimed(scene, [getattr(fault, "node")])  # noqa: B009 - each of them has one


async def must_be_spared(scene: Scene, node: Node) -> None:
    """Raise NothingToStrikeError if a partition needs this node for min.insync.replicas."""
    if scene.unsafe_faults:
        return
    for found in await _partitions(scene):
        left = set(found.isr) - {node}
        if node in found.replicas and len(left) < scene.min_insync_replicas:
            raise NothingToStrikeError(
                f"{node} cannot be taken down: too few other replicas are in sync"
            )


async def count_the_mended(scene: Scene) -> None:
    """Remove nodes from `scene.damaged` that are back in every ISR."""
    struck = {
        getattr(fault, "node", "")
        for fault in scene.in_force.values()
        if isinstance(fault, DAMAGING)
    }
    for node in sorted(scene.damaged - struck):
        if await _is_mended(scene, node):
            scene.damaged.discard(node)


def _spared(scene: Scene, lost: set[Node], partition: PartitionState) -> bool:
    spare = len(partition.replicas) - scene.min_insync_replicas
    return len(lost.intersection(partition.replicas)) <= max(0, spare)


async def _is_mended(scene: Scene, node: Node) -> bool:
    """Asks the node itself, because the ISR that other nodes report may be older than the loss.

    A node that serves has seen its own registration, which removed it from every ISR.
    """
    process = scene.cluster.process
    if process is not None and not await process.is_running(node):
        return False
    try:
        for topic in scene.topics:
            for found in await scene.cluster.partitions(topic, node):
                if node in found.replicas and node not in found.isr:
                    return False
    except EnvironmentFailure:
        return False
    return True


async def _partitions(scene: Scene) -> list[PartitionState]:
    return [each for topic in scene.topics for each in await scene.cluster.partitions(topic)]


def _why_none(scene: Scene, wanted: Sequence[Node]) -> str:
    if scene.damaged:
        nodes = ", ".join(sorted(scene.damaged))
        return f"no further replica may be damaged before {nodes} is back in every ISR"
    nodes = ", ".join(sorted(wanted))
    return f"no replica may be damaged: partitions on {nodes} have min.insync.replicas replicas"
