"""What three nodes owe their clients, told so that it can be played in any place."""

from __future__ import annotations

import asyncio

from harness.cluster import Cluster, Node
from harness.cluster.waiting import wait_until
from harness.schedule.faults import both_ways
from tests.cluster.both_places import Clients
from tests.cluster.clusters import SOON_S, others, until_isr_is, values
from tests.cluster.confluent import Position

PARTITIONS = 6
COUNT = 20
TWO_IN_SYNC = {"min.insync.replicas": "2"}


async def led_topic(cluster: Cluster, clients: Clients, partitions: int = 1) -> Node:
    """Topic t, of which every replica is in sync; the leader of its first partition."""
    await clients.create_topic("t", partitions=partitions, replicas=3, config=TWO_IN_SYNC)
    await until_isr_is(cluster, "t", cluster.nodes)
    leader = await cluster.leader("t", 0)
    assert leader is not None
    return leader


async def a_node_dies_and_comes_back(cluster: Cluster, clients: Clients) -> None:
    assert cluster.process is not None
    victim = await led_topic(cluster, clients, PARTITIONS)
    before = await cluster.partitions("t")
    assert [one.index for one in before] == list(range(PARTITIONS))
    assert {one.leader for one in before} == set(cluster.nodes)
    stored: dict[bytes, Position] = {}
    for index in range(PARTITIONS):
        stored |= await clients.produce("t", values(f"before {index}", COUNT), partition=index)

    await cluster.process.kill(victim)
    assert not await cluster.process.is_running(victim)
    await until_isr_is(cluster, "t", others(cluster, victim))
    during = await cluster.partitions("t")
    assert [one.replicas for one in during] == [one.replicas for one in before]
    # Who led and lives leads on: an election is for the dead one's partitions only.
    for then, now in zip(before, during, strict=True):
        assert now.leader == then.leader or then.leader == victim
    for index in range(PARTITIONS):
        stored |= await clients.produce("t", values(f"during {index}", COUNT), partition=index)
    assert await clients.read_all("t") == stored

    await cluster.process.start(victim)
    await until_isr_is(cluster, "t", cluster.nodes)
    stored |= await clients.produce("t", values("after", COUNT), partition=0)
    assert await clients.read_all("t") == stored


async def a_clean_stop_moves_leadership_first(cluster: Cluster, clients: Clients) -> None:
    assert cluster.process is not None
    leaving = await led_topic(cluster, clients, PARTITIONS)
    await cluster.process.stop(leaving)
    # At once: nobody has to wait for the end of a session here.
    assert leaving not in {one.leader for one in await cluster.partitions("t")}
    await cluster.process.start(leaving)
    await until_isr_is(cluster, "t", cluster.nodes)


async def a_paused_leader_is_replaced(cluster: Cluster, clients: Clients) -> None:
    assert cluster.process is not None
    paused = await led_topic(cluster, clients)
    stored = await clients.produce("t", values("before", COUNT), partition=0)

    await cluster.process.pause(paused)
    assert await cluster.process.is_paused(paused)
    await until_isr_is(cluster, "t", others(cluster, paused))
    stored |= await clients.produce("t", values("during", COUNT), partition=0)

    await cluster.process.resume(paused)
    assert not await cluster.process.is_paused(paused)
    await until_isr_is(cluster, "t", cluster.nodes)
    stored |= await clients.produce("t", values("after", COUNT), partition=0)
    assert await clients.read_all("t") == stored


async def the_controller_dies(cluster: Cluster, clients: Clients) -> None:
    assert cluster.process is not None
    victim = await cluster.controller()
    assert victim is not None
    await cluster.process.kill(victim)

    async def is_replaced() -> bool:
        return await cluster.controller() not in (None, victim)

    await wait_until(is_replaced, within_s=SOON_S, what="another node controls")
    await clients.create_topic("t", partitions=1, replicas=2)
    stored = await clients.produce("t", values("written", COUNT), partition=0)
    assert await clients.read_all("t") == stored


async def all_nodes_die_at_once(cluster: Cluster, clients: Clients) -> None:
    assert cluster.process is not None
    await led_topic(cluster, clients)
    stored = await clients.produce("t", values("before", COUNT), partition=0)
    for node in cluster.nodes:
        await cluster.process.kill(node)
    await cluster.start()
    await until_isr_is(cluster, "t", cluster.nodes)
    stored |= await clients.produce("t", values("after", COUNT), partition=0)
    assert await clients.read_all("t") == stored


async def a_full_disk_is_freed(cluster: Cluster, clients: Clients) -> None:
    assert cluster.disk is not None
    victim = await led_topic(cluster, clients)
    stored = await clients.produce("t", values("before", COUNT), partition=0)
    await cluster.disk.fill(victim)
    assert await cluster.disk.free_bytes(victim) == 0
    # Some may fail, and may be stored all the same; those acknowledged are there for good.
    more = [b"%d %s" % (number, b"x" * 100_000) for number in range(20)]
    stored |= await clients.produce("t", more, partition=0, may_fail=True)

    await cluster.disk.heal()
    await cluster.start()
    await until_isr_is(cluster, "t", cluster.nodes)
    stored |= await clients.produce("t", values("after", COUNT), partition=0)
    assert (await clients.read_all("t")).items() >= stored.items()


async def an_isolated_leader_is_replaced(cluster: Cluster, clients: Clients) -> None:
    """Its clients still reach it. What it takes from them alone it never acknowledges."""
    assert cluster.network is not None
    alone = await led_topic(cluster, clients)
    stored = await clients.produce("t", values("before", COUNT), partition=0)

    all_links = await cluster.network.reachable()
    cut = both_ways(*((alone, other) for other in others(cluster, alone)))
    await cluster.network.cut(cut)
    assert await cluster.network.reachable() == all_links - set(cut)
    meanwhile = asyncio.create_task(
        clients.produce("t", values("meanwhile", COUNT), partition=0, may_fail=True)
    )
    await until_isr_is(cluster, "t", others(cluster, alone))
    assert await cluster.leader("t", 0, alone) == alone
    stored |= await meanwhile
    stored |= await clients.produce("t", values("during", COUNT), partition=0)

    await cluster.network.heal()
    assert await cluster.network.reachable() == all_links
    await until_isr_is(cluster, "t", cluster.nodes)
    stored |= await clients.produce("t", values("after", COUNT), partition=0)
    assert (await clients.read_all("t")).items() >= stored.items()
