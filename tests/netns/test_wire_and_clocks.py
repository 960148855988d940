"""Brokers behind their proxies, on hosts of their own: cuts, kills and losses of power stay real.

And the clock of each host is its own.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.cluster import Cluster
from harness.cluster.base import NewTopic
from harness.cluster.netns import NetnsPlace
from harness.cluster.netns.addresses import CLIENTS
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.cluster.waiting import wait_until
from harness.wire.match import Delay, Drop, Matcher, MessageFault
from tests.netns.places import disks_of, network_of
from tests.netns.test_cluster import leader

SOON_S = 60.0
HOUR_S = 3600.0


@asynccontextmanager
async def brokers(directory: Path, *, wire: bool) -> AsyncIterator[tuple[Cluster, NetnsPlace]]:
    place = NetnsPlace(directory, disk_bytes=256 << 20, wire=wire)
    system = ReferenceBroker(place, QUICK_FAILOVER)
    configs = {"message.timestamp.type": "LogAppendTime"}
    topic = NewTopic(name="t", partitions=1, replication_factor=3, configs=configs)
    async with Cluster(system, count=3) as cluster:
        await system.create_topic(topic)
        yield cluster, place


def sent(bootstrap: str, values: list[bytes], *, within_s: float = SOON_S) -> list[int]:
    """One by one, idempotent; the offsets of what was acknowledged by all in time."""
    from confluent_kafka import Producer

    offsets: list[int] = []

    def on_delivery(error: object, message: object) -> None:
        if error is None:
            offsets.append(message.offset())  # type: ignore[attr-defined]

    config = {"enable.idempotence": True, "client.id": "X", "socket.timeout.ms": 2000}
    timeouts = {"message.timeout.ms": int(within_s * 1000), "request.timeout.ms": 1000}
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **config, **timeouts})
    for value in values:
        producer.produce("t", value, partition=0, on_delivery=on_delivery)
        producer.flush(within_s + 10)
    return offsets


async def test_a_reply_of_the_leader_is_lost_once(tmp_path: Path) -> None:
    async with brokers(tmp_path, wire=True) as (cluster, place):
        assert place.wire is not None
        leads = await leader(cluster)
        lost = Matcher(api="Produce", direction="reply", source=leads, target=CLIENTS, nth=3)
        await place.wire.add(MessageFault("lost", lost, Drop()))
        # Followers are known by where they come from.
        follower = next(node for node in cluster.nodes if node != leads)
        pulled = Matcher(api="Fetch", direction="request", source=follower, target=leads)
        await place.wire.add(MessageFault("pulled", pulled, Delay(0.01)))
        bootstrap = cluster.bootstrap()
        values = [b"%d" % number for number in range(6)]
        assert await place.ask(lambda: sent(bootstrap, values)) == list(range(6))
        assert await place.wire.hits("lost") == 1
        assert await place.wire.hits("pulled") == 1
        await place.wire.heal()
        assert await place.ask(lambda: sent(bootstrap, [b"6"])) == [6]


async def test_a_cut_is_a_cut_with_a_proxy_too(tmp_path: Path) -> None:
    async with brokers(tmp_path, wire=True) as (cluster, place):
        network = network_of(place)
        bootstrap = cluster.bootstrap()
        assert await place.ask(lambda: sent(bootstrap, [b"0"])) == [0]
        from_clients = [(CLIENTS, node) for node in cluster.nodes]
        await network.cut(from_clients)
        assert await place.ask(lambda: sent(bootstrap, [b"no"], within_s=3)) == []
        await network.heal()
        assert await place.ask(lambda: sent(bootstrap, [b"1"])) == [1]
        old = await leader(cluster)
        others = [node for node in cluster.nodes if node != old]
        between = [(old, node) for node in others] + [(node, old) for node in others]
        await network.cut(between)
        new = await leader(cluster, *others, but=old)
        assert new != old
        await network.heal()


async def test_a_broker_comes_back_behind_its_proxy(tmp_path: Path) -> None:
    async with brokers(tmp_path, wire=True) as (cluster, place):
        assert cluster.process is not None
        bootstrap = cluster.bootstrap()
        await cluster.process.kill("n1")
        assert await place.ask(lambda: sent(bootstrap, [b"0"])) == [0]
        await cluster.process.start("n1")
        await disks_of(place).lose_power("n2")
        await disks_of(place).restore_power("n2")
        await cluster.process.start("n2")

        async def are_back() -> bool:
            return set((await cluster.partitions("t"))[0].isr) == set(cluster.nodes)

        await wait_until(are_back, within_s=SOON_S, what="all are in sync again")
        only_n2 = cluster.bootstrap("n2")
        assert await place.ask(lambda: sent(only_n2, [b"1"])) == [1]


def stamped(bootstrap: str, count: int) -> list[float]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "log_level": 0})
    consumer.assign([TopicPartition("t", 0, 0)])
    try:
        found = [consumer.poll(SOON_S) for _ in range(count)]
        return [message.timestamp()[1] / 1000 for message in found if message is not None]
    finally:
        consumer.close()


async def test_the_clock_of_a_host_is_its_own(tmp_path: Path) -> None:
    async with brokers(tmp_path, wire=False) as (cluster, place):
        assert place.clock is not None
        assert place.why_not("wire")
        leads = await leader(cluster)
        bootstrap = cluster.bootstrap()
        begun_s = time.time()
        await place.clock.jump(leads, HOUR_S)
        assert await place.clock.offset_s(leads) == pytest.approx(HOUR_S, abs=0.05)
        assert await place.ask(lambda: sent(bootstrap, [b"ahead"])) == [0]
        await place.clock.heal()
        assert await place.clock.offset_s(leads) == pytest.approx(0, abs=0.05)
        assert await place.ask(lambda: sent(bootstrap, [b"true"])) == [1]
        stamps = await place.ask(lambda: stamped(bootstrap, 2))
        assert [each - begun_s for each in stamps] == pytest.approx([HOUR_S, 0], abs=60)
        assert await leader(cluster) == leads
