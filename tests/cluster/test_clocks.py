"""Brokers whose wall clock is wrong: it shows in what they write, and in nothing else."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from harness.cluster import Cluster
from tests.cluster.clusters import running, until_isr_is
from tests.cluster.confluent import create_topic, produce

pytestmark = pytest.mark.clients

HOUR_S = 3600.0
NEAR_S = 60.0


async def stamps(cluster: Cluster, count: int) -> list[float]:
    """When the records were stored, by the clock of whoever stored them."""

    def read() -> list[float]:
        consumer = Consumer(
            {"bootstrap.servers": cluster.bootstrap(), "group.id": "unused", "log_level": 0}
        )
        consumer.assign([TopicPartition("t", 0, 0)])
        try:
            found = []
            for _ in range(count):
                message = consumer.poll(30)
                assert message is not None
                assert message.error() is None
                found.append(message.timestamp()[1] / 1000)
            return found
        finally:
            consumer.close()

    return await asyncio.to_thread(read)


async def test_a_jump_shows_in_the_stamps_of_records_and_costs_no_leader(tmp_path: Path) -> None:
    async with running(tmp_path, 3) as (cluster, _):
        config = {"message.timestamp.type": "LogAppendTime"}
        await create_topic(cluster, "t", partitions=1, replicas=3, config=config)
        clocks = cluster.clock
        assert clocks is not None
        leader = await cluster.leader("t", 0)
        assert leader is not None
        begun_s = time.time()
        await produce(cluster, "t", [b"before"])
        await clocks.jump(leader, HOUR_S)
        await produce(cluster, "t", [b"ahead"])
        await clocks.jump(leader, -2 * HOUR_S)
        await produce(cluster, "t", [b"behind"])
        await clocks.heal()
        await produce(cluster, "t", [b"after"])
        found = [each - begun_s for each in await stamps(cluster, 4)]
        assert found == pytest.approx([0, HOUR_S, -HOUR_S, 0], abs=NEAR_S)
        # Sessions, elections and lags go by another clock.
        assert await cluster.leader("t", 0) == leader
        await until_isr_is(cluster, "t", cluster.nodes)
