"""Clients at full speed do not come between the members of the quorum."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster import Cluster
from harness.cluster.reference_broker import QuorumState, ReferenceBroker
from tests.cluster.clusters import running, until_isr_is
from tests.cluster.confluent import create_topic

pytestmark = pytest.mark.clients

NODES = ("n1", "n2", "n3")
KAFKA_DEFAULTS = {
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
}


def flood(bootstrap: str, number: int, seconds: float) -> int:
    """Small batches, so that the brokers have as many requests as can be; how many records left."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "1",
            "linger.ms": 0,
            "batch.num.messages": 10,
            "log_level": 0,
        }
    )
    sent = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            producer.produce("t", b"x" * 100, partition=(number + sent) % 6)
            sent += 1
        except BufferError:
            producer.poll(0.01)
        producer.poll(0)
    left = producer.flush(60)
    return sent - left


async def quorum_of(cluster: Cluster) -> QuorumState:
    assert isinstance(cluster.system, ReferenceBroker)
    return await cluster.system.quorum(cluster.nodes)


@pytest.mark.parametrize(
    ("producers", "seconds"),
    [
        (1, 4.0),
        # On two cores four of them leave a broker a tenth of a core, and elections were seen.
        pytest.param(4, 4.0, marks=pytest.mark.slow),
        pytest.param(4, 30.0, marks=pytest.mark.slow),
    ],
)
async def test_a_flood_of_small_batches_causes_no_election(
    tmp_path: Path, producers: int, seconds: float
) -> None:
    async with running(tmp_path, 3, properties=KAFKA_DEFAULTS) as (cluster, _):
        await create_topic(cluster, "t", partitions=6, replicas=3)
        await until_isr_is(cluster, "t", NODES)
        before = await quorum_of(cluster)
        bootstrap = cluster.bootstrap()
        sent = await asyncio.gather(
            *(asyncio.to_thread(flood, bootstrap, one, seconds) for one in range(producers))
        )
        assert sum(sent) > 1000 * seconds
        assert await quorum_of(cluster) == before
        # Nobody fell behind so far that a session, or a place in sync, was lost for good.
        await until_isr_is(cluster, "t", NODES)
