"""The budget of damage: so many replicas of a partition may have lost data, and not one more.

A record that was acknowledged is on as many replicas as `min.insync.replicas` says, at the least.
So of a partition with three replicas and a minimum of two, one may be damaged, until it has copied
what it lacks and is back in the ISR. With `unsafe_faults` nobody counts, and nothing can be said
about loss any more.
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
    """Why no replica may ever be damaged, or None."""
    if ground.spare_replicas:
        return None
    return (
        f"it damages replicas, and with min.insync.replicas={ground.min_insync_replicas} of "
        f"{ground.replication_factor} replicas none can be spared; try a larger "
        "--replication-factor, or --unsafe-faults"
    )


def may_damage(scene: Scene) -> bool:
    """Whether any replica may ever be damaged in this run."""
    return scene.unsafe_faults or scene.replication_factor > scene.min_insync_replicas


async def affordable(scene: Scene, nodes: Sequence[Node], dice: Random) -> list[Node]:
    """As many of these as may be damaged together, beside those that are; in a drawn order."""
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
        raise NothingToStrikeError(
            f"no replica more may be damaged until {_list(scene.damaged)} is back in every ISR"
        )
    # Taken at once: before the deed another nemesis may look, too.
    scene.damaged.update(chosen)
    return chosen


async def afford(scene: Scene, fault: Fault) -> None:
    """NothingToStrikeError where this fault would damage one replica too many.

    For a fault that was chosen in another run, whose replicas were elsewhere or in better health.
    """
    if isinstance(fault, DAMAGING):
        await _claimed(scene, [getattr(fault, "node")])  # noqa: B009 - each of them has one


async def must_be_spared(scene: Scene, node: Node) -> None:
    """NothingToStrikeError where a partition would rely on this node alone when it comes back."""
    if scene.unsafe_faults:
        return
    for found in await _partitions(scene):
        left = set(found.isr) - {node}
        if node in found.replicas and len(left) < scene.min_insync_replicas:
            raise NothingToStrikeError(f"too few replicas are in sync to do without {node}")


async def count_the_mended(scene: Scene) -> None:
    """Takes those off the list that have copied what they lacked."""
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
    """By its own word: what others know of the ISR may be older than its loss.

    A node that serves has seen its own registration, which took it out of every ISR.
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


def _list(nodes: set[Node]) -> str:
    return ", ".join(sorted(nodes)) or "the ISR is larger and a replica"
