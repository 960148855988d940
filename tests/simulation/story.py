"""One simulated story with a bit of everything, as a command: prints a digest for each seed.

Run in processes with different hash seeds, it must print the same.
"""

from __future__ import annotations

import asyncio
import sys
from random import Random

from broker.protocol.records import Record, build_batch
from harness.sim.nodes import SimCluster
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation
from tests.nodes import Wire, create_topic, produce

LENGTH_S = 20.0
PATIENCE_S = 1.0
QUICK_RETURN = {"broker.session.timeout.ms": "500", "broker.heartbeat.interval.ms": "100"}
"""A node that was killed is let in again when its old session has ended."""

_LOST = (ConnectionError, TimeoutError, asyncio.IncompleteReadError, OSError)


class Writer:
    """Sends values to one broker, again and again, whatever happens to its connection."""

    def __init__(self, cluster: SimCluster, node: str, random: Random) -> None:
        self.acknowledged: list[int] = []
        self.lost_connections = 0
        self._address = cluster[node].address
        self._random = random

    async def run(self) -> None:
        value = 0
        while True:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    wire = await Wire.connect(self._address)
            except _LOST:
                await asyncio.sleep(self._random.uniform(0.05, 0.2))
                continue
            try:
                while True:
                    value += 1
                    async with asyncio.timeout(PATIENCE_S):
                        batch = build_batch([Record(0, 1_700_000_000_000, b"k", b"%d" % value)])
                        part = await produce(wire, batch)
                    if part.error_code == 0:
                        self.acknowledged.append(value)
                    await asyncio.sleep(self._random.uniform(0.0, 0.05))
            except _LOST:
                self.lost_connections += 1
            finally:
                wire.writer.close()


async def _topic(cluster: SimCluster, node: str) -> None:
    wire = await Wire.connect(cluster[node].address)
    await create_topic(wire, "t")
    await wire.close()


async def _break_things(simulation: Simulation, cluster: SimCluster, random: Random) -> None:
    while simulation.now_s < LENGTH_S - 5.0:
        await asyncio.sleep(random.uniform(0.2, 1.0))
        node = cluster[random.choice(list(cluster.nodes))]
        client = f"c{random.randint(1, 2)}"
        there = simulation.network.link(client, node.name)
        back = simulation.network.link(node.name, client)
        pause_s = random.uniform(0.1, 2.0)
        match random.choice(("kill", "power", "pause", "cut", "one-way", "clock")):
            case "kill":
                node.kill()
                await asyncio.sleep(pause_s)
                node.start()
            case "power":
                node.power_loss()
                await asyncio.sleep(pause_s)
                node.start()
            case "pause":
                node.pause()
                await asyncio.sleep(pause_s)
                node.resume()
            case "cut":
                there.cut()
                back.cut()
                await asyncio.sleep(pause_s)
                there.heal()
                back.heal()
            case "one-way":
                back.cut()
                await asyncio.sleep(pause_s)
                back.heal()
            case "clock":
                node.clock.jump(random.uniform(-60_000, 60_000))


def tell(seed: int) -> tuple[Simulation, list[Writer]]:
    simulation = Simulation(seed)
    cluster = SimCluster(simulation, 2, QUICK_RETURN, is_one=False)
    writers: list[Writer] = []

    async def main() -> None:
        await cluster.start()
        for number, node in enumerate(cluster.nodes, 1):
            await _topic(cluster, node)
            writer = Writer(cluster, node, simulation.decisions.random("client", f"c{number}"))
            writers.append(writer)
            _ = SimProcess(simulation, f"c{number}").start(writer.run())
        await _break_things(simulation, cluster, simulation.decisions.random("story", ""))
        await asyncio.sleep(LENGTH_S - simulation.now_s)

    simulation.run(main(), deadline_s=100.0)
    return simulation, writers


def digest(seed: int) -> str:
    simulation, writers = tell(seed)
    with simulation:
        counts = " ".join(f"{len(each.acknowledged)}+{each.lost_connections}" for each in writers)
        return f"{seed} {simulation.trace.digest()} {len(simulation.trace)} {counts}"


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        sys.stdout.write(digest(number) + "\n")
