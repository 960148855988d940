"""aiokafka, unmodified, on five simulated nodes: a leader is killed, another one is cut off.

As a command: prints for each seed what came of it. It starts itself again with pinned hashes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from dataclasses import asdict, dataclass

from harness.native.client import Client
from harness.native.produce_queue import Delivered
from harness.native.settings import ClientSettings
from harness.schedule.schedule import Operation, Schedule
from harness.sim.actors import Actor
from harness.sim.aiokafka_actor import AiokafkaActor
from harness.sim.foreign_clients import BROKER_PROPERTIES, foreign_clients, prepare_process
from harness.sim.judgement import problems
from harness.sim.nodes import SimNode
from harness.sim.operations import TOPIC
from harness.sim.processes import SimProcess
from harness.sim.record import Record
from harness.sim.stage import Stage, set_up

NODES = 5
PARTITIONS = 3
SENDS = 200
GAP_MS = 100.0
PROPERTIES = {
    **BROKER_PROPERTIES,
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "replica.lag.time.max.ms": "2000",
}
BEGIN_MS = 4_000.0
KILL_AT_S = 8.0
DOWN_S = 4.0
CUT_AT_S = 15.0
CUT_S = 5.0
DEADLINE_S = 120.0


@dataclass(frozen=True)
class Told:
    digest: str
    acknowledged: int
    polled: int
    read_back: int
    problems: list[str]
    leaders_struck: tuple[str, str]
    apis: list[str]


def _schedule(seed: int) -> Schedule:
    moments = [BEGIN_MS + GAP_MS * number for number in range(SENDS)]
    return Schedule(
        seed=seed,
        nodes=NODES,
        properties=PROPERTIES,
        operations={
            "writer": tuple(
                Operation(
                    at_ms=at_ms,
                    do="send",
                    arguments={"partition": number % PARTITIONS, "value": f"value {number}"},
                )
                for number, at_ms in enumerate(moments)
            ),
            "reader": tuple(
                Operation(at_ms=at_ms, do="poll", arguments={"partition": number % PARTITIONS})
                for number, at_ms in enumerate(moments)
            ),
        },
    )


async def _leader(stage: Stage, client: Client, partition: int) -> SimNode:
    view = await client.admin.describe_topic(TOPIC)
    return stage.cluster[f"n{view.partitions[partition].leader}"]


async def _break_things(stage: Stage, client: Client) -> tuple[str, str]:
    loop, network = stage.simulation.loop, stage.simulation.network
    await asyncio.sleep(KILL_AT_S - loop.time())
    killed = await _leader(stage, client, 0)
    killed.kill()
    await asyncio.sleep(DOWN_S)
    killed.start()
    await asyncio.sleep(CUT_AT_S - loop.time())
    alone = await _leader(stage, client, 1)
    # Its clients reach it still: it must not acknowledge what it cannot replicate.
    links = [
        network.link(*pair)
        for other in stage.cluster.nodes
        if other != alone.name
        for pair in ((alone.name, other), (other, alone.name))
    ]
    for link in links:
        link.cut()
    await asyncio.sleep(CUT_S)
    for link in links:
        link.heal()
    return killed.name, alone.name


async def _play(stage: Stage, record: Record) -> tuple[str, str]:
    simulation = stage.simulation
    await stage.cluster.start()
    founder = Actor("founder", stage, record, ClientSettings())
    await SimProcess(simulation, "founder").start(founder.create_topic(PARTITIONS))
    playing = [
        SimProcess(simulation, name).start(
            AiokafkaActor(name, stage, record, partitions=PARTITIONS).run(operations)
        )
        for name, operations in stage.schedule.operations.items()
    ]
    client = Client(
        simulation.network.of("director"),
        [node.address for node in stage.cluster.nodes.values()],
        random=simulation.decisions.random("client", "director"),
        now_ms=stage.cluster["n1"].clock.now_ms,
    )
    struck = await SimProcess(simulation, "director").start(_break_things(stage, client))
    await asyncio.wait(playing)
    for each in playing:
        each.result()
    reader = client.reader()
    ends = {
        partition: (await reader.list_offset(TOPIC, partition, -1)).offset
        for partition in range(PARTITIONS)
    }
    judge = AiokafkaActor("judge", stage, record, partitions=PARTITIONS)
    await SimProcess(simulation, "judge").start(judge.read_everything(ends))
    return struck


def tell(seed: int) -> Told:
    stage, record = set_up(_schedule(seed)), Record()
    with stage.simulation as simulation, foreign_clients(simulation):
        struck = simulation.run(_play(stage, record), deadline_s=DEADLINE_S)
        return Told(
            digest=simulation.trace.digest(),
            acknowledged=sum(isinstance(sent.outcome, Delivered) for sent in record.sends),
            polled=len(record.seen),
            read_back=sum(map(len, record.last_reading.values())),
            problems=list(problems(record)),
            leaders_struck=struck,
            apis=sorted({row.api for row in simulation.trace.rows() if row.node == "writer"}),
        )


if __name__ == "__main__":
    prepare_process()
    logging.disable(logging.CRITICAL)
    for seed in sys.argv[1:]:
        sys.stdout.write(f"{json.dumps(asdict(tell(int(seed))))}\n")
