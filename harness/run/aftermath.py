"""What a cluster looks like when all is healed: who answers, and which partitions do not serve.

Plain data for results.json; checkers/availability.py judges it.
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
"""Faults after which a replica may lack something, or its log may be offline."""


def struck_by(faults: Iterable[Fault]) -> list[Node]:
    """Nodes whose disks may have lost something, or may refuse to go on."""
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
    """As the cluster describes itself now. A topic that nobody describes is not counted.

    A system without leaders describes no partition: writes alone will show what it serves.
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
    """By node, whether it describes a topic when it is asked itself, or else answers at all."""

    async def answers(node: Node) -> bool:
        try:
            if cluster.system.leaders is None:
                return await cluster.system.is_well(node)
            await cluster.partitions(topics[0], node)
        except (EnvironmentFailure, OSError, IndexError):
            return False
        return True

    # All at once: each silent one takes its time-out.
    told = await asyncio.gather(*(answers(node) for node in cluster.nodes))
    return dict(zip(cluster.nodes, told, strict=True))
