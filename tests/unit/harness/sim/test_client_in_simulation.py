"""The client inside the simulator: kills, pauses, cuts and message faults, and nothing lost."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.client import Client
from harness.native.produce_queue import Delivered
from harness.native.reader import FetchSettings
from harness.native.settings import ClientSettings
from harness.sim.nodes import SimCluster
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation
from harness.wire.match import (
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    MessageFaults,
    ReplaceByError,
)

COUNT = 150
PATIENT_BUT_NOT_TOO_MUCH = ClientSettings(
    connect_timeout_s=1.0, request_timeout_s=2.0, metadata_timeout_s=1.0, delivery_timeout_s=60.0
)
AT_ONCE = FetchSettings(max_wait_s=0.0, timeout_s=30.0)


def message_faults() -> MessageFaults:
    not_leader = ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    reply = Matcher(api="Produce", direction="reply", nth=10)
    request = Matcher(api="Produce", direction="request", topic="t", nth=20)
    return MessageFaults(
        [
            MessageFault("lost reply", reply, Drop()),
            MessageFault("late request", request, Delay(3.0)),
            MessageFault("copied", Matcher(api="Produce", topic="t", nth=40), Duplicate(0.3), 3),
            MessageFault("told wrongly", Matcher(api="Produce", nth=60), not_leader, 2),
        ]
    )


def client_in(simulation: Simulation, cluster: SimCluster) -> Client:
    return Client(
        simulation.network.of("c1"),
        [cluster["n1"].address],
        random=simulation.decisions.random("client", "c1"),
        now_ms=lambda: 1_700_000_000_000,
        settings=PATIENT_BUT_NOT_TOO_MUCH,
    )


async def write_and_read(simulation: Simulation, cluster: SimCluster) -> list[tuple[int, int]]:
    async with client_in(simulation, cluster) as client:
        await client.admin.create_topic("t")
        producer = client.producer()
        outcomes = []
        for value in range(COUNT):
            outcomes.append(producer.submit("t", 0, [(None, b"%d" % value)]))
            await asyncio.sleep(0.02)
        await producer.flush()
        assert [each.result() for each in outcomes] == [Delivered(at) for at in range(COUNT)]
        assert producer.resets == 0
        reader = client.reader()
        found: list[tuple[int, int]] = []
        while len(found) < COUNT:
            fetched = await reader.fetch("t", 0, len(found), AT_ONCE)
            found += [(record.offset, int(record.value or b"-1")) for record in fetched.records]
        return found


async def break_things(simulation: Simulation, cluster: SimCluster, random: Random) -> None:
    node = cluster["n1"]
    there, back = simulation.network.link("c1", "n1"), simulation.network.link("n1", "c1")
    while simulation.now_s < 8.0:
        await asyncio.sleep(random.uniform(0.3, 1.5))
        for_s = random.uniform(0.1, 2.5)
        match random.choice(("kill", "pause", "cut")):
            case "kill":
                node.kill()
                await asyncio.sleep(for_s)
                node.start()
            case "pause":
                node.pause()
                await asyncio.sleep(for_s)
                node.resume()
            case "cut":
                there.cut()
                back.cut()
                await asyncio.sleep(for_s)
                there.heal()
                back.heal()


@pytest.mark.parametrize("seed", range(4))
def test_every_batch_is_acknowledged_once_and_found_where_it_was_said_to_be(seed: int) -> None:
    faults = message_faults()
    with Simulation(seed, message_faults=faults) as simulation:
        cluster = SimCluster(simulation, 1)

        async def main() -> list[tuple[int, int]]:
            await cluster.start()
            work = SimProcess(simulation, "c1").start(write_and_read(simulation, cluster))
            await break_things(simulation, cluster, simulation.decisions.random("story", ""))
            return await work

        found = simulation.run(main(), deadline_s=300.0)
        assert found == [(value, value) for value in range(COUNT)]
        assert all(count.hit for count in faults.counts().values()), faults.counts()


def test_nothing_behind_a_dropped_request_arrives() -> None:
    matcher = Matcher(api="DescribeCluster", direction="request", nth=2)
    faults = MessageFaults([MessageFault("lost", matcher, Drop())])
    with Simulation(1, message_faults=faults) as simulation:
        cluster = SimCluster(simulation, 1)

        async def main() -> list[str]:
            await cluster.start()
            async with client_in(simulation, cluster) as client:
                connection = await client.nodes.connection(-1)
                version = connection.version_of(ApiKey.DESCRIBE_CLUSTER)
                body = m.DescribeClusterRequest()
                asked = [
                    connection.ask(ApiKey.DESCRIBE_CLUSTER, version, body, timeout_s)
                    for timeout_s in (5.0, 1.0, 5.0)
                ]
                answers = await asyncio.gather(*asked, return_exceptions=True)
                return [type(each).__name__ for each in answers]

        answers = simulation.run(main(), deadline_s=100.0)
        assert answers == [
            "DescribeClusterResponse",
            "RequestTimedOutError",
            "ConnectionLostError",
        ]
