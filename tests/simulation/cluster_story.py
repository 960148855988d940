"""Five brokers, two clients and the faults that the seed draws, as a command.

Prints a digest and some totals for each seed. Run under different hash seeds, it must print the
same.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from dataclasses import dataclass, field

from broker.protocol.errors import ErrorCode
from harness.native.client import Client
from harness.native.errors import BrokerError, ClientError
from harness.native.produce_queue import Delivered, Outcome
from harness.native.reader import FetchSettings
from harness.schedule.schedule import Schedule
from harness.sim.processes import SimProcess
from harness.sim.stage import Stage, set_up
from harness.sim.swarm import Setting, with_swarm

NODES = 5
LENGTH_S = 40.0
FAULTS_FROM_S = 5.0
FAULTS_UNTIL_S = 30.0
PARTITIONS = 3
GAP_S = 0.1


@dataclass
class Seen:
    sent: int = 0
    acknowledged: int = 0
    polls: int = 0
    read: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def drawn(seed: int) -> Schedule:
    schedule = Schedule(
        seed=seed,
        nodes=NODES,
        length_ms=LENGTH_S * 1000,
        operations={"c1": (), "c2": ()},
        properties={"min.insync.replicas": "2", "default.replication.factor": "3"},
    )
    setting = Setting(
        nodes=tuple(f"n{number}" for number in range(1, NODES + 1)),
        clients=("c1", "c2"),
        begin_ms=FAULTS_FROM_S * 1000,
        end_ms=FAULTS_UNTIL_S * 1000,
    )
    return with_swarm(schedule, setting)


def _client(stage: Stage, name: str) -> Client:
    simulation = stage.simulation
    return Client(
        simulation.network.of(name),
        [node.address for node in stage.cluster.nodes.values()],
        random=simulation.decisions.random("client", name),
        now_ms=stage.cluster["n1"].clock.now_ms,
    )


async def _send(stage: Stage, seen: Seen) -> None:
    async with _client(stage, "c1") as client:
        try:
            await client.admin.create_topic("t", partitions=PARTITIONS)
        except BrokerError as error:
            # The answer to a first try was lost, and the topic is there.
            if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        producer = client.producer()

        def settled(done: asyncio.Future[Outcome]) -> None:
            if not done.cancelled() and isinstance(done.result(), Delivered):
                seen.acknowledged += 1

        while stage.simulation.now_s < LENGTH_S - 2:
            seen.sent += 1
            outcome = producer.submit("t", seen.sent % PARTITIONS, [(None, b"%d" % seen.sent)])
            outcome.add_done_callback(settled)
            await asyncio.sleep(GAP_S)


async def _poll(stage: Stage, seen: Seen) -> None:
    async with _client(stage, "c2") as client:
        await asyncio.sleep(FAULTS_FROM_S - stage.simulation.now_s)
        reader = client.reader()
        positions = dict.fromkeys(range(PARTITIONS), 0)
        while stage.simulation.now_s < LENGTH_S - 2:
            for partition, offset in positions.items():
                seen.polls += 1
                try:
                    fetched = await reader.fetch(
                        "t", partition, offset, FetchSettings(max_wait_s=0.0, timeout_s=2.0)
                    )
                except ClientError:
                    pass
                else:
                    seen.read += len(fetched.records)
                    positions[partition] = fetched.next_offset
                await asyncio.sleep(GAP_S)


def tell(seed: int) -> tuple[Stage, Seen]:
    stage, seen = set_up(drawn(seed)), Seen()

    async def main() -> None:
        await stage.cluster.start()
        for name, work in (("c1", _send), ("c2", _poll)):
            _ = SimProcess(stage.simulation, name).start(work(stage, seen))
        await asyncio.sleep(LENGTH_S - stage.simulation.now_s)

    stage.simulation.run(main(), deadline_s=1000)
    seen.kinds.update(row.kind for row in stage.simulation.trace.rows())
    return stage, seen


def digest(seed: int) -> str:
    stage, seen = tell(seed)
    with stage.simulation:
        rows = len(stage.simulation.trace)
        totals = f"{seen.acknowledged}/{seen.sent} sent, {seen.read} read"
        return f"{seed} {stage.simulation.trace.digest()} {rows} rows, {totals}"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        sys.stdout.write(digest(number) + "\n")
