"""Committed offsets on three real brokers: whatever dies, what was acknowledged stays."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from harness.cluster import Cluster
from tests.cluster.clusters import SOON_S, running, until_isr_is
from tests.cluster.confluent import create_topic

pytestmark = pytest.mark.clients

NODES = ("n1", "n2", "n3")
OFFSETS = "__consumer_offsets"
PROPERTIES = {"offsets.topic.num.partitions": "3", "min.insync.replicas": "2"}


class Committer:
    """Commits one offset after the other for a group, whoever coordinates it."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self.group = group
        self.acknowledged = -1
        self.asked = -1
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap(),
                "group.id": group,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )

    def _commit_next(self) -> None:
        self.asked += 1
        place = TopicPartition("t", 0, self.asked)
        try:
            [told] = self._consumer.commit(offsets=[place], asynchronous=False) or []
        except KafkaException:
            return  # it may have been kept all the same
        if told.error is None:
            self.acknowledged = self.asked

    async def commit_until(self, over: asyncio.Event, least: int) -> None:
        """Until `over`, and at least so many more that are acknowledged."""
        until = self.acknowledged + least
        deadline = time.monotonic() + SOON_S
        while not (over.is_set() and self.acknowledged >= until):
            assert time.monotonic() < deadline, f"{self.group} was acknowledged {self.acknowledged}"
            await asyncio.to_thread(self._commit_next)

    def close(self) -> None:
        self._consumer.close()


async def committed(cluster: Cluster, group: str) -> int:
    """As a client sees it that has never asked before."""

    def ask() -> int:
        consumer = Consumer(
            {"bootstrap.servers": cluster.bootstrap(), "group.id": group, "log_level": 0}
        )
        try:
            [found] = consumer.committed([TopicPartition("t", 0)], timeout=SOON_S)
            return int(found.offset)
        finally:
            consumer.close()

    return await asyncio.to_thread(ask)


async def kill_coordinators(directory: Path, rounds: int) -> None:
    async with running(directory, 3, properties=PROPERTIES) as (cluster, process):
        await create_topic(cluster, "t", partitions=1, replicas=3)
        committers = [Committer(cluster, f"g{number}") for number in range(4)]
        over = asyncio.Event()
        over.set()
        await asyncio.gather(*(each.commit_until(over, 1) for each in committers))
        await until_isr_is(cluster, OFFSETS, NODES)
        for number in range(rounds):
            over = asyncio.Event()
            work = [asyncio.create_task(each.commit_until(over, 5)) for each in committers]
            await asyncio.sleep(0.3)
            victim = await cluster.leader(OFFSETS, number % 3)
            assert victim is not None
            await process.kill(victim)
            await asyncio.sleep(0.3)
            over.set()
            await asyncio.gather(*work)
            for each in committers:
                seen = await committed(cluster, each.group)
                assert each.acknowledged <= seen <= each.asked, each.group
            await process.start(victim)
            await until_isr_is(cluster, OFFSETS, NODES)
        for each in committers:
            assert each.acknowledged <= await committed(cluster, each.group) <= each.asked
            each.close()


async def test_the_coordinator_dies_and_the_next_one_has_everything(tmp_path: Path) -> None:
    await kill_coordinators(tmp_path, rounds=1)


@pytest.mark.slow
async def test_one_coordinator_dies_after_the_other(tmp_path: Path) -> None:
    await kill_coordinators(tmp_path, rounds=6)
