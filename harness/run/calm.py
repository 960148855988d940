"""After the faults: makes sure that all is healed, and moves every leadership once.

What is read back then comes from another node than the one that took it, so that a record which
only one node ever had cannot pass for safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations

from harness.cluster import Cluster
from harness.cluster.errors import NoAnswerError, NotInTimeError
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure

_ISR_WITHIN_S = 60.0
_CLOCK_ERROR_S = 0.5


async def doubts_about_healing(cluster: Cluster, topics: Sequence[str]) -> list[str]:
    """What is still broken, each as a sentence; waits for replicas to catch up."""
    doubts: list[str] = []
    if cluster.network is not None:
        cut = set(permutations(cluster.network.hosts, 2)) - await cluster.network.reachable()
        if cut:
            links = ", ".join(f"{source} to {target}" for source, target in sorted(cut)[:3])
            doubts.append(f"after healing nothing arrives from {links}")
    if cluster.process is not None:
        for node in cluster.nodes:
            if not await cluster.process.is_running(node):
                doubts.append(f"after healing {node} does not run")
            elif await cluster.process.is_paused(node):
                doubts.append(f"after healing {node} is still paused")
    if cluster.clock is not None:
        for node in cluster.nodes:
            offset_s = await cluster.clock.offset_s(node)
            if abs(offset_s) > _CLOCK_ERROR_S:
                doubts.append(f"after healing the clock of {node} is {offset_s:+.1f} s off")
    doubts += await _doubts_about_replicas(cluster, topics)
    return doubts


async def _doubts_about_replicas(cluster: Cluster, topics: Sequence[str]) -> list[str]:
    async def all_in_sync() -> bool:
        for topic in topics:
            for partition in await cluster.partitions(topic):
                if partition.leader is None or set(partition.isr) != set(partition.replicas):
                    return False
        return True

    try:
        await wait_until(
            all_in_sync, within_s=_ISR_WITHIN_S, what="every replica is in sync", every_s=0.3
        )
    except NotInTimeError as late:
        return [f"after healing, {late}"]
    return []


async def rotate_leaders(cluster: Cluster, topics: Sequence[str]) -> list[str]:
    """Each partition is led by its next replica; doubts about those that are not."""
    doubts = []
    for topic in topics:
        for partition in await cluster.partitions(topic):
            if partition.leader is None or len(partition.replicas) < 2:
                continue
            replicas = list(partition.replicas)
            at = replicas.index(partition.leader) + 1
            order = replicas[at:] + replicas[:at]
            try:
                await cluster.system.reassign(topic, partition.index, order)
                await cluster.system.elect(topic, partition.index)
            except (EnvironmentFailure, NoAnswerError) as failure:
                doubts.append(
                    f"{topic}-{partition.index} could not be led by {order[0]}: {failure}"
                )
        await asyncio.sleep(0)
    return doubts
