"""Clusters of real brokers on loopback, with time-outs short enough for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from harness.cluster import Cluster, Node, PartitionState
from harness.cluster.capabilities import Processes
from harness.cluster.local import LocalPlace
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.cluster.waiting import wait_until

SOON_S = 30.0
LAG = {"replica.lag.time.max.ms": "2000"}
"""Soon enough for tests, and long enough for a node that is only slow."""


@asynccontextmanager
async def running(
    directory: Path,
    count: int,
    *,
    disk_bytes: int | None = None,
    properties: dict[str, str] | None = None,
    wire: bool = False,
) -> AsyncIterator[tuple[Cluster, Processes]]:
    settings = replace(QUICK_FAILOVER, properties={**LAG, **(properties or {})})
    place = LocalPlace(directory, disk_bytes=disk_bytes, wire=wire)
    async with Cluster(ReferenceBroker(place, settings), count=count) as cluster:
        assert cluster.process is not None
        yield cluster, cluster.process


async def until_isr_is(
    cluster: Cluster, topic: str, wanted: Collection[Node], *, within_s: float = SOON_S
) -> None:
    """Of every partition, led by one of them, and each of them knows it."""

    def fits(one: PartitionState) -> bool:
        return set(one.isr) == set(wanted) and one.leader in wanted

    async def is_so() -> bool:
        for node in wanted:
            if not all(map(fits, await cluster.partitions(topic, node))):
                return False
        return True

    await wait_until(is_so, within_s=within_s, what=f"the ISR of all of {topic} is {wanted}")


def others(cluster: Cluster, *without: Node) -> list[Node]:
    return [node for node in cluster.nodes if node not in without]


def values(name: str, count: int) -> list[bytes]:
    return [f"{name} {number}".encode() for number in range(count)]
