"""A node of three whose disk is full, and then is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster import Cluster, Node
from harness.cluster.capabilities import Processes
from tests.cluster.clusters import others, running, until_isr_is, values
from tests.cluster.confluent import Position, create_topic, produce, read_all

pytestmark = pytest.mark.clients

NODES = ("n1", "n2", "n3")
DISK_BYTES = 64 << 20
SMALL_SEGMENTS = {"log.segment.bytes": str(1 << 20), "min.insync.replicas": "2"}


async def fill_and_free(cluster: Cluster, victim: Node) -> dict[bytes, Position]:
    """What was acknowledged before, while the disk was full, and after it."""
    assert cluster.disk is not None
    stored = await produce(cluster, "t", [b"%d %s" % (n, b"x" * 1000) for n in range(500)])
    await cluster.disk.fill(victim)
    assert await cluster.disk.free_bytes(victim) == 0
    # Some may fail, and may be stored all the same; those acknowledged are there for good.
    more = [b"%d %s" % (n, b"y" * 100_000) for n in range(20)]
    stored |= await produce(cluster, "t", more, may_fail=True, timeout_s=6)
    await cluster.disk.heal()
    await cluster.start()
    await until_isr_is(cluster, "t", NODES)
    return stored | await produce(cluster, "t", values("after", 50))


async def make_it_lead(cluster: Cluster, process: Processes, node: Node) -> None:
    """One of the first two replicas: it leads once the other is gone."""
    leader = await cluster.leader("t", 0)
    assert leader is not None
    if leader != node:
        await process.stop(leader)
        await until_isr_is(cluster, "t", others(cluster, leader))
    assert await cluster.leader("t", 0) == node


@pytest.mark.parametrize("role", ["leader", pytest.param("follower", marks=pytest.mark.slow)])
async def test_a_node_whose_disk_was_full_comes_back_and_nothing_is_lost(
    tmp_path: Path, role: str
) -> None:
    async with running(tmp_path, 3, disk_bytes=DISK_BYTES, properties=SMALL_SEGMENTS) as (
        cluster,
        process,
    ):
        await create_topic(cluster, "t", partitions=1, replicas=3)
        await until_isr_is(cluster, "t", NODES)
        first, second, _ = (await cluster.partitions("t"))[0].replicas
        victim = first if role == "leader" else second
        stored = await fill_and_free(cluster, victim)
        found = await read_all(cluster, "t")
        assert found.items() >= stored.items()
        # Read from the one that was full. A late retry may have added to it, but nothing is gone.
        await make_it_lead(cluster, process, victim)
        assert (await read_all(cluster, "t")).items() >= found.items()
