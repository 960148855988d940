"""Members of a group on three real brokers: the coordinator dies, and they are members still."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from harness.cluster import Cluster
from tests.clients.group_members import GroupMember, wait_until_shared
from tests.cluster.clusters import SOON_S, running, until_isr_is
from tests.cluster.confluent import create_topic

pytestmark = [pytest.mark.clients, pytest.mark.slow]

NODES = ("n1", "n2", "n3")
OFFSETS = "__consumer_offsets"
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "min.insync.replicas": "2",
    "group.initial.rebalance.delay.ms": "0",
}


def member(cluster: Cluster, number: int, **options: Any) -> GroupMember:
    return GroupMember(
        "confluent-kafka",
        {
            "bootstrap": cluster.bootstrap(),
            "topic": "t",
            "group": "g",
            "client_id": f"m{number}",
            "session_ms": 20_000,
            "heartbeat_ms": 500,
            "max_poll_ms": 60_000,
            "strategy": "range",
            **options,
        },
    )


def write(cluster: Cluster) -> None:
    """A record for each partition, so that there is something to commit."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "log_level": 0})
    for partition in range(3):
        producer.produce("t", b"x", partition=partition)
    assert producer.flush(SOON_S) == 0


async def commits(one: GroupMember) -> None:
    """While the next coordinator is looked for, a commit may fail; not for long."""
    async with asyncio.timeout(SOON_S):
        while (error := await asyncio.to_thread(one.commit)) is not None:
            passing = ("NO_OFFSET", "COORDINATOR", "TIMED_OUT", "TRANSPORT")
            assert any(each in error for each in passing), error
            await asyncio.sleep(0.1)


async def test_members_outlive_their_coordinators(tmp_path: Path) -> None:
    async with running(tmp_path, 3, properties=PROPERTIES) as (cluster, process):
        await create_topic(cluster, "t", partitions=3, replicas=3)
        members = [member(cluster, number) for number in range(3)]
        try:
            await asyncio.to_thread(wait_until_shared, members, [0, 1, 2])
            shares = [each.assigned for each in members]
            seen = [len(each.of("assigned")) for each in members]
            await until_isr_is(cluster, OFFSETS, NODES)
            for _ in range(2):
                victim = await cluster.leader(OFFSETS, 0)
                assert victim is not None
                await process.kill(victim)
                await asyncio.to_thread(write, cluster)
                await asyncio.gather(*(commits(each) for each in members))
                # Nobody had to join again: ids, generation and assignments were loaded.
                assert [each.assigned for each in members] == shares
                assert [len(each.of("assigned")) for each in members] == seen
                await process.start(victim)
                await until_isr_is(cluster, OFFSETS, NODES)
            # The group still works: one leaves, and the others share its part.
            await asyncio.to_thread(members[0].leave)
            await asyncio.to_thread(wait_until_shared, members[1:], [0, 1, 2])
        finally:
            for each in members:
                if each.is_running:
                    each.kill()
