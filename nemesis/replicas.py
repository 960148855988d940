"""Replicas moved from node to node, and waited for until they have arrived."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from harness.cluster.capabilities import Node
from harness.cluster.waiting import wait_until
from harness.schedule.faults import Replicas
from nemesis.base import NothingToStrikeError, Scene

WITHIN_S = 60.0


async def held_by(scene: Scene, node: Node) -> Replicas:
    """The workload's partitions that have a replica there, with all their replicas."""
    found = []
    for topic in scene.topics:
        for each in await scene.cluster.partitions(topic):
            if node in each.replicas:
                found.append((f"{topic}-{each.index}", " ".join(each.replicas)))
    return tuple(found)


def without(
    held: Replicas, node: Node, nodes: Sequence[Node], least: int, dice: Random
) -> Replicas:
    """Another node takes its place where there is one; otherwise there is one replica less."""
    moved = []
    for key, said in held:
        replicas = said.split()
        spare = [each for each in nodes if each not in replicas]
        left = [dice.choice(spare) if spare and each == node else each for each in replicas]
        left = [each for each in left if each != node]
        if len(left) < least:
            raise NothingToStrikeError(f"{key} cannot do without {node}: it needs {least} replicas")
        moved.append((key, " ".join(left)))
    return tuple(moved)


async def move(scene: Scene, wanted: Replicas, *, within_s: float = WITHIN_S) -> None:
    """Returns when each partition has these replicas, all of them in sync, and no other.

    To ask for what already is does nothing.
    """
    for key, replicas in wanted:
        topic, _, index = key.rpartition("-")
        if not await _has(scene, key, replicas):
            await scene.cluster.system.reassign(topic, int(index), replicas.split())
    for key, replicas in wanted:

        async def has_arrived(key: str = key, replicas: str = replicas) -> bool:
            return await _has(scene, key, replicas)

        what = f"{key} is on {replicas}, all in sync"
        await wait_until(has_arrived, within_s=within_s, what=what, every_s=0.2)


async def _has(scene: Scene, key: str, replicas: str) -> bool:
    topic, _, index = key.rpartition("-")
    for each in await scene.cluster.partitions(topic):
        if each.index == int(index):
            nodes = replicas.split()
            return list(each.replicas) == nodes and set(each.isr) == set(nodes)
    return False
