"""Five real brokers: any two may go, and with three gone the rest still serves what it leads."""

from __future__ import annotations

import asyncio
from itertools import combinations
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from harness.cluster import Cluster, Node
from harness.cluster.capabilities import Processes
from tests.cluster import aiokafka_client
from tests.cluster.clusters import others, running, until_isr_is, values
from tests.cluster.confluent import Position, create_topic, produce, read_all

pytestmark = [pytest.mark.clients, pytest.mark.slow]

NODES = ("n1", "n2", "n3", "n4", "n5")
PARTITIONS = 5
LONG_S = 60.0


async def lose_and_regain(
    cluster: Cluster, process: Processes, victims: tuple[Node, ...]
) -> dict[bytes, Position]:
    """What was stored while they were gone."""
    name = "+".join(victims)
    await asyncio.gather(*(process.kill(victim) for victim in victims))
    stored = await produce(cluster, "t", values(f"without {name}", 100))
    stored |= await aiokafka_client.produce(
        cluster, "t", values(f"other {name}", 10), partition=len(name) % PARTITIONS
    )
    await until_isr_is(cluster, "t", others(cluster, *victims), within_s=LONG_S)
    await asyncio.gather(*(process.start(victim) for victim in victims))
    await until_isr_is(cluster, "t", NODES, within_s=LONG_S)
    return stored


@pytest.mark.timeout(900)
async def test_five_nodes_survive_the_loss_of_any_two(tmp_path: Path) -> None:
    async with running(tmp_path, 5) as (cluster, process):
        config = {"min.insync.replicas": "3"}
        await create_topic(cluster, "t", partitions=PARTITIONS, replicas=5, config=config)
        await until_isr_is(cluster, "t", NODES)
        stored = await produce(cluster, "t", values("before", 100))
        for victims in combinations(NODES, 2):
            stored |= await lose_and_regain(cluster, process, victims)
        assert await read_all(cluster, "t") == stored
        assert await aiokafka_client.read_all(cluster, "t", PARTITIONS) == stored


@pytest.mark.timeout(300)
async def test_two_of_five_replicate_on_though_no_controller_is_left(tmp_path: Path) -> None:
    """acks=all with both replicas, which takes no decision of a controller."""
    async with running(tmp_path, 5) as (cluster, process):
        config = {"min.insync.replicas": "2"}
        await create_topic(cluster, "t", partitions=2, assignment=[[4, 5], [5, 4]], config=config)
        await until_isr_is(cluster, "t", ["n4", "n5"])
        stored = await produce(cluster, "t", values("before", 50))
        await asyncio.gather(*(process.kill(node) for node in ("n1", "n2", "n3")))
        # Longer than any session.
        await asyncio.sleep(3)
        stored |= await produce(cluster, "t", values("without", 50))
        assert await read_all(cluster, "t") == stored
        assert await aiokafka_client.read_all(cluster, "t", 2) == stored
        with pytest.raises(KafkaException):
            await create_topic(cluster, "impossible", partitions=1, replicas=1, within_s=2)
        await cluster.start()
        await create_topic(cluster, "possible", partitions=1, replicas=5)
        stored |= await produce(cluster, "t", values("after", 50))
        assert await read_all(cluster, "t") == stored
