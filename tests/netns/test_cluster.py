"""Real brokers on hosts of their own, real clients on another, and a partition between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path

from harness.cluster import Cluster
from harness.cluster.base import NewTopic
from harness.cluster.netns import NetnsPlace
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.cluster.waiting import wait_until
from tests.netns.places import disks_of, network_of

SOON_S = 60.0


@asynccontextmanager
async def brokers(directory: Path) -> AsyncIterator[tuple[Cluster, NetnsPlace]]:
    place = NetnsPlace(directory, disk_bytes=256 << 20)
    system = ReferenceBroker(place, QUICK_FAILOVER)
    async with Cluster(system, count=3) as cluster:
        await system.create_topic(NewTopic(name="t", partitions=1, replication_factor=3))
        yield cluster, place


def sent(bootstrap: str, values: list[bytes]) -> list[int]:
    """The offsets of what was acknowledged by all."""
    from confluent_kafka import Producer

    offsets: list[int] = []

    def on_delivery(error: object, message: object) -> None:
        if error is None:
            offsets.append(message.offset())  # type: ignore[attr-defined]

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    for value in values:
        producer.produce("t", value, partition=0, on_delivery=on_delivery)
    assert producer.flush(SOON_S) == 0
    return offsets


async def leader(cluster: Cluster, *asking: str, but: str = "") -> str:
    found: list[str] = []

    async def is_known() -> bool:
        who = await cluster.leader("t", 0, *asking)
        found[:] = [] if who is None or who == but else [who]
        return bool(found)

    await wait_until(is_known, within_s=SOON_S, what=f"another than {but} leads")
    return found[0]


async def test_a_cluster_outlives_the_partition_of_its_leader(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (cluster, place):
        bootstrap = cluster.bootstrap()
        assert await place.ask(lambda: sent(bootstrap, [b"0", b"1"])) == [0, 1]
        old = await leader(cluster)
        others = [node for node in cluster.nodes if node != old]
        network = network_of(place)
        await network.cut([link for link in permutations(network.hosts, 2) if old in link])
        await leader(cluster, *others, but=old)
        rest = cluster.bootstrap(*others)
        assert await place.ask(lambda: sent(rest, [b"2"])) == [2]
        await network.heal()

        async def is_back() -> bool:
            return set((await cluster.partitions("t"))[0].isr) == set(cluster.nodes)

        await wait_until(is_back, within_s=SOON_S, what="all are in sync again")
        assert await place.ask(lambda: sent(bootstrap, [b"3"])) == [3]


async def test_a_broker_comes_back_after_its_host_lost_power(tmp_path: Path) -> None:
    async with brokers(tmp_path) as (cluster, place):
        assert cluster.process is not None
        bootstrap = cluster.bootstrap()
        assert await place.ask(lambda: sent(bootstrap, [b"0"])) == [0]
        await disks_of(place).lose_power("n1")
        assert not await cluster.process.is_running("n1")
        assert await place.ask(lambda: sent(bootstrap, [b"1"])) == [1]
        await disks_of(place).restore_power("n1")
        assert not await cluster.process.is_running("n1"), "nobody started it"
        await cluster.process.start("n1")

        async def is_back() -> bool:
            return "n1" in (await cluster.partitions("t", "n1"))[0].isr

        await wait_until(is_back, within_s=SOON_S, what="n1 is in sync again")
