"""How soon a cluster notices that a node is gone, with Kafka's own time-outs.

A session lasts nine seconds. A process that is gone is noticed without it; a machine that falls
silent is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from broker.metadata.partition_info import PartitionInfo
from harness.native.client import Client
from harness.sim.nodes import SimCluster, SimNode
from harness.sim.simulation import Simulation

SESSION_S = 9.0
ELECTION_S = 4.0
"""Kafka's time-outs let a new controller be elected within that, and mostly much sooner."""


def run(story: Callable[[SimCluster], Coroutine[Any, Any, None]], seed: int) -> None:
    with Simulation(seed) as simulation:
        cluster = SimCluster(simulation, 3, {"min.insync.replicas": "2"})

        async def main() -> None:
            await cluster.start()
            async with client_of(cluster) as client:
                await client.admin.create_topic("t", partitions=6, replication_factor=3)
            await until(lambda: all(len(each.isr) == 3 for each in partitions(cluster["n1"])))
            await story(cluster)

        simulation.run(main(), deadline_s=600)


def client_of(cluster: SimCluster) -> Client:
    simulation = cluster.simulation
    return Client(
        simulation.network.of("client"),
        [node.address for node in cluster.nodes.values()],
        random=simulation.decisions.random("client", "client"),
        now_ms=cluster["n1"].clock.now_ms,
    )


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - virtual time, and the state of several nodes
        await asyncio.sleep(0.005)


def partitions(seen_from: SimNode) -> list[PartitionInfo]:
    assert seen_from.node is not None
    topic = seen_from.node.metadata.image.topic("t")
    return list(topic.partitions) if topic is not None else []


def controller_of(cluster: SimCluster) -> SimNode:
    [active] = [
        each
        for each in cluster.nodes.values()
        if each.node is not None and each.node.controller.is_active
    ]
    return active


async def seconds_until_others_lead(cluster: SimCluster, gone: SimNode) -> float:
    """By what a node that is left knows. It led something, or nothing would be shown."""
    seen_from = next(each for each in cluster.nodes.values() if each is not gone)
    assert any(each.leader == gone.node_id for each in partitions(seen_from))
    begun = cluster.simulation.now_s
    await until(lambda: all(each.leader != gone.node_id for each in partitions(seen_from)))
    return cluster.simulation.now_s - begun


def test_a_process_that_is_gone_is_noticed_at_once() -> None:
    async def story(cluster: SimCluster) -> None:
        controller = controller_of(cluster)
        victim = next(each for each in cluster.nodes.values() if each is not controller)
        victim.kill()
        assert await seconds_until_others_lead(cluster, victim) < 0.5

    for seed in range(5):
        run(story, seed)


def test_a_new_controller_knows_that_the_one_before_it_is_gone() -> None:
    async def story(cluster: SimCluster) -> None:
        victim = controller_of(cluster)
        victim.kill()
        assert await seconds_until_others_lead(cluster, victim) < ELECTION_S

    for seed in range(5):
        run(story, seed)


def test_a_machine_that_falls_silent_keeps_its_session() -> None:
    async def story(cluster: SimCluster) -> None:
        controller = controller_of(cluster)
        victim = next(each for each in cluster.nodes.values() if each is not controller)
        victim.power_loss()
        waited_s = await seconds_until_others_lead(cluster, victim)
        assert SESSION_S - 2 - 0.1 < waited_s < SESSION_S + 1

    run(story, 1)


def test_whoever_lives_and_only_lost_its_connection_goes_on_leading() -> None:
    async def story(cluster: SimCluster) -> None:
        controller = controller_of(cluster)
        watcher = next(each for each in cluster.nodes.values() if each is not controller)
        assert controller.node is not None
        before = partitions(watcher)
        brokers = [each for each in cluster.nodes.values() if each is not controller]
        for connection in list(controller.node.controller_server._connections):
            connection.close()
        await asyncio.sleep(SESSION_S)
        assert partitions(watcher) == before
        for each in brokers:
            info = controller.node.metadata.image.brokers[each.node_id]
            assert not info.fenced

    run(story, 1)


def test_no_client_is_sent_to_a_controller_that_may_be_gone() -> None:
    async def story(cluster: SimCluster) -> None:
        controller_of(cluster).kill()
        async with client_of(cluster) as client:
            await client.metadata.refresh()
            for each in cluster.nodes.values():
                if each.is_running:
                    view = await client.metadata.view(each.node_id, ["t"])
                    assert view.controller_id == each.node_id
            await client.admin.create_topic("late", partitions=1)

    run(story, 1)
