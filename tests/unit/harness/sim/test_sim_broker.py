"""The reference broker as a system inside a simulation."""

from __future__ import annotations

import asyncio

import pytest

from harness.cluster import Cluster
from harness.cluster.errors import (
    NoAnswerError,
    NodeFailedError,
    NotInTimeError,
    RefusedConfigError,
)
from harness.cluster.server_properties import QUICK_FAILOVER, Settings
from harness.cluster.waiting import wait_until
from harness.sim.node_process import NodeProcess
from harness.sim.nodes import SimCluster, SimNode
from harness.sim.place import SimPlace
from harness.sim.sim_broker import SimBroker
from harness.sim.simulation import Simulation
from tests.unit.harness.sim.places import Placed, create_topic, on_simulated_nodes


@on_simulated_nodes(3)
async def test_a_cluster_answers_who_leads_and_who_controls(placed: Placed) -> None:
    cluster = placed.cluster
    assert cluster.nodes == ("n1", "n2", "n3")
    assert cluster.bootstrap() == "n1:9092,n2:9092,n3:9092"
    assert cluster.bootstrap("n2") == "n2:9092"
    await create_topic(placed, "t", assignment={0: [2, 3], 1: [3, 1]})

    async def is_known() -> bool:
        return [one.isr for one in await cluster.partitions("t")] == [("n2", "n3"), ("n3", "n1")]

    await wait_until(is_known, within_s=10, what="all are in sync")
    first, second = await cluster.partitions("t")
    assert (first.index, first.leader, first.replicas) == (0, "n2", ("n2", "n3"))
    assert (second.index, second.leader, second.replicas) == (1, "n3", ("n3", "n1"))
    assert await cluster.leader("t", 1) == "n3"
    controllers = {await cluster.controller(node) for node in cluster.nodes}
    assert len(controllers) == 1
    assert controllers < set(cluster.nodes)
    with pytest.raises(NoAnswerError, match="n3:9092 does not know missing: UNKNOWN_TOPIC"):
        await cluster.partitions("missing")


@on_simulated_nodes(3)
async def test_the_next_is_asked_when_one_does_not_answer(placed: Placed) -> None:
    await placed.process.kill("n1")
    await create_topic(placed, "t", assignment={0: [2]})
    with pytest.raises(NoAnswerError, match=r"none of n1 answered: .*refused"):
        await placed.cluster.partitions("t", "n1")
    assert await placed.cluster.leader("t", 0, "n1", "n2") == "n2"


@on_simulated_nodes(3)
async def test_a_partition_without_a_leader_has_none(placed: Placed) -> None:
    await create_topic(placed, "t", assignment={0: [2]})
    await placed.process.kill("n2")

    async def is_orphaned() -> bool:
        return await placed.cluster.leader("t", 0) is None

    await wait_until(is_orphaned, within_s=10, what="nobody leads")


def test_the_settings_of_real_processes_hold_here_too() -> None:
    settings = Settings(
        broker_session_timeout_ms=4321,
        racks=("a", "b"),
        properties={"num.partitions": "7"},
    )
    made: list[SimCluster] = []
    with Simulation(1) as simulation:
        system = SimBroker(SimPlace(simulation), settings, on_made=made.append)

        async def main() -> None:
            async with Cluster(system, count=3):
                pass

        simulation.run(main(), deadline_s=60)
        (nodes,) = made
        configs = [node.config for node in nodes.nodes.values()]
        assert [config.node_id for config in configs] == [1, 2, 3]
        assert [config.broker_rack for config in configs] == ["a", "b", "a"]
        assert {config.broker_session_timeout_ms for config in configs} == {4321}
        assert {config.num_partitions for config in configs} == {7}
        assert not any(config.auto_create_topics_enable for config in configs)
        assert {config.log_dirs for config in configs} == {("/data/logs",)}


def test_a_node_that_cannot_be_configured_says_why() -> None:
    refused = Settings(properties={"node.id": "one"})
    with Simulation(1) as simulation:
        place = SimPlace(simulation)

        async def main() -> None:
            with pytest.raises(
                RefusedConfigError, match=r"n1 could not be formatted(.|\n)*node\.id"
            ):
                async with Cluster(SimBroker(place, refused), count=1):
                    pass
            assert place.hosts == ()

        simulation.run(main(), deadline_s=60)


@on_simulated_nodes(1)
async def test_a_node_that_does_not_start_says_why(placed: Placed) -> None:
    await placed.process.stop("n1")
    logs = placed.place.hosts[0].data / "logs"
    await placed.place.put("n1", b"version=1\n", logs / "meta.properties")
    with pytest.raises(NodeFailedError, match="n1 ended with 1 before it was ready; it said:"):
        await placed.process.start("n1")
    assert not await placed.process.is_running("n1")


def test_a_node_without_a_majority_is_not_waited_for_for_ever() -> None:
    with Simulation(1) as simulation:
        system = SimBroker(SimPlace(simulation), QUICK_FAILOVER, start_within_s=20)

        async def main() -> None:
            async with Cluster(system, count=3) as cluster:
                assert cluster.process is not None
                for node in cluster.nodes:
                    await cluster.process.kill(node)
                begun_s = simulation.now_s
                with pytest.raises(
                    NodeFailedError, match="timed out after 20 s waiting until n1 is ready"
                ):
                    await cluster.process.start("n1")
                assert simulation.now_s - begun_s == pytest.approx(20, abs=0.1)
                assert not await cluster.process.is_running("n1")

        simulation.run(main(), deadline_s=200)


@on_simulated_nodes(1)
async def test_how_a_process_ended_is_known(placed: Placed) -> None:
    system = placed.cluster.system
    first = system.process("n1")
    assert first is not None
    ended = asyncio.create_task(first.wait())
    await placed.process.pause("n1")
    await placed.process.stop("n1")  # One that stands still is woken first.
    assert await ended == 0
    assert await first.output("stderr") == "n1 was stopped"

    await placed.process.start("n1")
    second = system.process("n1")
    assert second is not None
    assert (first.pid, second.pid) == (1, 2)
    assert not await first.is_running()
    await first.kill()  # Of a process that has ended, nobody else's is killed.
    assert await second.is_running()
    assert await second.output("stderr") == await second.output("stdout") == ""
    await second.kill()
    assert await second.wait() == -9
    assert await second.output("stderr") == "n1 was killed"


@on_simulated_nodes(1)
async def test_a_process_that_does_not_end_when_asked_is_killed(placed: Placed) -> None:
    process = placed.cluster.system.process("n1")
    assert process is not None
    # What it must write down before it may go takes too long.
    await placed.disk.slow("n1", 10.0)
    with pytest.raises(
        NotInTimeError, match=r"timed out after 2 s waiting until n1/1 ends when asked; it was kill"
    ):
        await process.terminate(within_s=2)
    assert not await process.is_running()
    assert await process.wait() == -9


def test_a_node_that_does_not_run_has_no_process() -> None:
    with Simulation(1) as simulation:
        node = SimCluster(simulation, 1)["n1"]
        assert isinstance(node, SimNode)
        with pytest.raises(ValueError, match="n1 does not run"):
            NodeProcess(node)
