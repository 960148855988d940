"""Moves replicas between nodes and waits until they are in sync."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import Random

from harness.cluster.capabilities import Node
from harness.cluster.errors import NoAnswerError, RefusedError
from harness.cluster.parts import the
from harness.cluster.waiting import wait_until
from harness.schedule.faults import Replicas
from nemesis.base import NothingToStrikeError, Scene

WITHIN_S = 60.0
_ASK_AGAIN_S = 5.0


async def held_by(scene: Scene, node: Node) -> Replicas:
    """The workload's partitions with a replica on `node`, each with all its replicas."""
    found = []
    for topic in scene.topics:
        for each in await scene.cluster.partitions(topic):
            if node in each.replicas:
                found.append((f"{topic}-{each.index}", " ".join(each.replicas)))
    return tuple(found)


def without(
    held: Replicas, node: Node, nodes: Sequence[Node], least: int, dice: Random
) -> Replicas:
    """Replace `node` by a spare node in each partition, or drop its replica."""
    moved = []
    for key, said in held:
        replicas = said.split()
        spare = [each for each in nodes if each not in replicas]
        left = [dice.choice(spare) if spare and each == node else each for each in replicas]
        left = [each for each in left if each != node]
        if len(left) < least:
            raise NothingToStrikeError(
                f"{key} needs its replica on {node}: min.insync.replicas is {least}"
            )
        moved.append((key, " ".join(left)))
    return tuple(moved)


async def move(scene: Scene, wanted: Replicas, *, within_s: float = WITHIN_S) -> None:
    """Return when each partition has exactly these replicas, all in sync.

    A partition that already has them is left alone.
    """
    for key, replicas in wanted:
        await _ask(scene, key, replicas)
    for key, replicas in wanted:
        await _arrival(scene, key, replicas, within_s)


async def _ask(scene: Scene, key: str, replicas: str) -> None:
    topic, _, index = key.rpartition("-")
    if not await _has(scene, key, replicas):
        await the(scene.cluster.system.reassignment).reassign(topic, int(index), replicas.split())


async def _arrival(scene: Scene, key: str, replicas: str, within_s: float) -> None:
    """Wait for the replicas; repeat the request, because another one may have replaced it."""
    loop = asyncio.get_running_loop()
    asked_s = loop.time()

    async def has_arrived() -> bool:
        nonlocal asked_s
        if await _has(scene, key, replicas):
            return True
        if loop.time() - asked_s >= _ASK_AGAIN_S:
            asked_s = loop.time()
            with suppress(RefusedError, NoAnswerError):  # it may be possible the next time
                await _ask(scene, key, replicas)
        return False

    what = f"{key} is on {replicas}, all in sync"
    await wait_until(has_arrived, within_s=within_s, what=what, every_s=0.2)


async def _has(scene: Scene, key: str, replicas: str) -> bool:
    topic, _, index = key.rpartition("-")
    for each in await scene.cluster.partitions(topic):
        if each.index == int(index):
            nodes = replicas.split()
            return list(each.replicas) == nodes and set(each.isr) == set(nodes)
    return False
