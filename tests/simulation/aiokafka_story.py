"""aiokafka, unmodified, against a broker in the simulator, as a command: prints what came of it.

Its compiled records read the machine's clock past Python, so they are switched off from outside.
"""

from __future__ import annotations

import sys

from harness.sim.bound_modules import bound_to
from harness.sim.nodes import SimCluster
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation
from tests.nodes import Wire, create_topic

COUNT = 20


async def talk() -> list[bytes]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    producer = AIOKafkaProducer(bootstrap_servers="n1:9092", enable_idempotence=True)
    await producer.start()
    try:
        for number in range(COUNT):
            await producer.send_and_wait("t", b"value %d" % number, partition=0)
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(
        bootstrap_servers="n1:9092", auto_offset_reset="earliest", group_id=None
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition("t", 0)])
        return [(await consumer.getone()).value for _ in range(COUNT)]
    finally:
        await consumer.stop()


def tell(seed: int) -> str:
    with Simulation(seed) as simulation, bound_to(simulation):
        cluster = SimCluster(simulation, 1)
        client = SimProcess(simulation, "c1")

        async def main() -> list[bytes]:
            await cluster.start()
            wire = await Wire.connect(cluster["n1"].address)
            await create_topic(wire, "t")
            await wire.close()
            return await client.start(talk())

        values = simulation.run(main(), deadline_s=60)
        assert values == [b"value %d" % number for number in range(COUNT)]
        apis = sorted({row.api for row in simulation.trace.rows() if row.node == "c1" and row.api})
        return f"{simulation.trace.digest()} {' '.join(apis)}"


if __name__ == "__main__":
    sys.stdout.write(tell(1) + "\n" + tell(1) + "\n" + tell(2) + "\n")
