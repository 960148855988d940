"""State of the cluster after healing: which nodes answer, and which partitions do not serve.

Plain data for results.json; checkers/cluster/availability.py judges it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from harness.cluster import Cluster, Node, PartitionState
from harness.errors import EnvironmentFailure
from harness.schedule.faults import (
    BitFlip,
    DiskError,
    DiskFull,
    DiskReadOnly,
    Fault,
    PowerLoss,
    TruncatedTail,
)

_STRIKES = (PowerLoss, DiskFull, DiskError, DiskReadOnly, BitFlip, TruncatedTail)
"""Faults after which a replica may lack records, or its log may be offline."""


def struck_by(faults: Iterable[Fault]) -> list[Node]:
    """Nodes whose disks may have lost data or may be offline."""
    return sorted({getattr(each, "node", "") for each in faults if isinstance(each, _STRIKES)})


async def aftermath(
    cluster: Cluster,
    topics: Sequence[str],
    *,
    is_healed: bool,
    struck: Collection[Node],
    min_isr: int,
    waited_s: float,
) -> dict[str, Any]:
    """The cluster as it describes itself now; a topic that no node describes is not counted.

    A system without leaders describes no partition; only writes show what it serves.
    """
    found = await described(cluster, topics)
    unwell = [told(topic, each, min_isr) for topic, each in found if not _serves(each, min_isr)]
    return {
        "healed": is_healed,
        "waited_s": round(waited_s, 1),
        "nodes": await answering(cluster, topics),
        "struck": list(struck),
        "partitions": len(found),
        "unwell": unwell,
    }


async def described(cluster: Cluster, topics: Sequence[str]) -> list[tuple[str, PartitionState]]:
    found: list[tuple[str, PartitionState]] = []
    for topic in topics:
        try:
            found += [(topic, each) for each in await cluster.partitions(topic)]
        except (EnvironmentFailure, OSError):
            continue
    return found


def _serves(partition: PartitionState, min_isr: int) -> bool:
    needed = min(min_isr, len(partition.replicas))
    return partition.leader is not None and len(partition.isr) >= needed


def told(topic: str, partition: PartitionState, min_isr: int) -> dict[str, Any]:
    return {
        "partition": f"{topic}-{partition.index}",
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "min_isr": min(min_isr, len(partition.replicas)),
    }


async def answering(cluster: Cluster, topics: Sequence[str]) -> dict[Node, bool]:
    """By node, whether it describes a topic itself or, without leaders, answers at all."""

    async def answers(node: Node) -> bool:
        try:
            if cluster.system.leaders is None:
                return await cluster.system.is_well(node)
            await cluster.partitions(topics[0], node)
        except (EnvironmentFailure, OSError, IndexError):
            return False
        return True

    # Concurrently, because each silent node takes a whole time-out.
    told = await asyncio.gather(*(answers(node) for node in cluster.nodes))
    return dict(zip(cluster.nodes, told, strict=True))
