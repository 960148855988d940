"""What a system does for a run: makes, changes and moves topics, and shows what is stored."""

from __future__ import annotations

import pytest

from harness.cluster import Cluster, NewTopic
from harness.cluster.errors import RefusedError
from harness.cluster.parts import the
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure
from tests.cluster.both_places import Clients
from tests.cluster.clusters import SOON_S, until_isr_is, values

TOPIC = NewTopic(name="t", partitions=2, replication_factor=3, configs={"min.insync.replicas": "2"})


async def topics_are_made_once(cluster: Cluster, clients: Clients) -> None:
    await the(cluster.system.topics).create_topic(TOPIC)
    before = await cluster.partitions("t")
    assert [one.leader is not None for one in before] == [True, True]
    await the(cluster.system.topics).create_topic(TOPIC)
    again = await cluster.partitions("t")
    assert [one.replicas for one in again] == [one.replicas for one in before]
    with pytest.raises(RefusedError, match="INVALID_REPLICATION_FACTOR"):
        await the(cluster.system.topics).create_topic(
            NewTopic(name="u", partitions=1, replication_factor=9)
        )


async def leadership_moves_by_order_and_election(cluster: Cluster, clients: Clients) -> None:
    await the(cluster.system.topics).create_topic(TOPIC)
    await until_isr_is(cluster, "t", cluster.nodes)
    (before, *_) = await cluster.partitions("t")
    order = before.replicas[1:] + before.replicas[:1]
    await the(cluster.system.reassignment).reassign("t", 0, order)

    async def is_led() -> bool:
        await the(cluster.system.elections).elect("t", 0)
        (now, *_) = await cluster.partitions("t")
        return now.leader == order[0] and now.replicas == order

    await wait_until(is_led, within_s=SOON_S, what="the next replica leads")
    # One that leads already is content.
    await the(cluster.system.elections).elect("t", 0)
    with pytest.raises(EnvironmentFailure, match="UNKNOWN_TOPIC_OR_PARTITION"):
        await the(cluster.system.reassignment).reassign("t", 7, order)


async def records_are_deleted_up_to_an_offset(cluster: Cluster, clients: Clients) -> None:
    await the(cluster.system.topics).create_topic(TOPIC)
    await until_isr_is(cluster, "t", cluster.nodes)
    await clients.produce("t", values("some", 10), partition=0)
    assert await the(cluster.system.retention).log_starts("t") == {0: 0, 1: 0}
    await the(cluster.system.retention).delete_records("t", {0: 6})
    assert await the(cluster.system.retention).log_starts("t") == {0: 6, 1: 0}
    with pytest.raises(RefusedError, match="OFFSET_OUT_OF_RANGE"):
        await the(cluster.system.retention).delete_records("t", {0: 99})


async def a_topic_is_altered_and_its_segments_are_shown(cluster: Cluster, clients: Clients) -> None:
    await the(cluster.system.topics).create_topic(TOPIC)
    await until_isr_is(cluster, "t", cluster.nodes)
    await clients.produce("t", values("first", 5), partition=1)
    shown = await the(cluster.system.stored).segments("t", "n1")
    assert [len(shown[index]) for index in (0, 1)] == [1, 1]
    assert shown[1][0] > shown[0][0] == 0
    await the(cluster.system.topics).alter_topic("t", {"segment.ms": "1"})

    async def is_rolled() -> bool:
        await clients.produce("t", values("more", 1), partition=1)
        return len((await the(cluster.system.stored).segments("t", "n1"))[1]) > 1

    await wait_until(is_rolled, within_s=SOON_S, what="a segment is rolled")
    await the(cluster.system.topics).alter_topic("t", {"segment.ms": None})
    with pytest.raises(RefusedError, match="INVALID_CONFIG"):
        await the(cluster.system.topics).alter_topic("t", {"segment.ms": "soon"})
    # On the host, so it can be had while nobody answers.
    assert cluster.process is not None
    await cluster.process.kill("n1")
    assert 1 in await the(cluster.system.stored).segments("t", "n1")
