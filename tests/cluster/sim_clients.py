"""What the stories do with our own client, in a process on a simulated host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker.network.interface import Address
from harness.cluster import Cluster
from harness.native.client import Client
from harness.native.partition_sender import ProducerSettings
from harness.native.produce_queue import Delivered
from harness.native.reader import LATEST, FetchSettings
from harness.native.settings import ClientSettings
from harness.sim.clock import START_MS
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation
from tests.cluster.confluent import PATIENCE_S, Position

HOST = "c1"
GIVE_UP_S = 6.0
SETTINGS = ClientSettings(connect_timeout_s=2.0, request_timeout_s=5.0)
AT_ONCE = FetchSettings(max_wait_s=0.0)


class SimClients:
    def __init__(self, simulation: Simulation, cluster: Cluster) -> None:
        self._simulation = simulation
        self._cluster = cluster
        self._process = SimProcess(simulation, HOST)
        self._made = 0

    def client(self) -> Client:
        simulation = self._simulation
        self._made += 1
        return Client(
            simulation.network.of(HOST),
            [_address(each) for each in self._cluster.bootstrap().split(",")],
            random=simulation.decisions.random("client", f"{HOST}/{self._made}"),
            now_ms=lambda: START_MS + int(simulation.now_s * 1000),
            settings=SETTINGS,
        )

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replicas: int,
        config: Mapping[str, str] | None = None,
    ) -> None:
        async def create() -> None:
            async with self.client() as client:
                await client.admin.create_topic(
                    name, partitions=partitions, replication_factor=replicas, configs=config
                )

        await self._process.start(create())

    async def produce(
        self, topic: str, values: Sequence[bytes], *, partition: int, may_fail: bool = False
    ) -> dict[bytes, Position]:
        async def send() -> dict[bytes, Position]:
            async with self.client() as client:
                patience_s = GIVE_UP_S if may_fail else PATIENCE_S
                producer = client.producer(ProducerSettings(delivery_timeout_s=patience_s))
                sent = {
                    value: producer.submit(topic, partition, [(None, value)]) for value in values
                }
                await producer.flush()
            outcomes = {value: outcome.result() for value, outcome in sent.items()}
            stored = {
                value: (partition, outcome.offset)
                for value, outcome in outcomes.items()
                if isinstance(outcome, Delivered)
            }
            assert may_fail or len(stored) == len(values), outcomes
            return stored

        return await self._process.start(send())

    async def read_all(self, topic: str) -> dict[bytes, Position]:
        async def read() -> dict[bytes, Position]:
            found: dict[bytes, Position] = {}
            async with self.client() as client:
                view = await client.admin.describe_topic(topic)
                reader = client.reader()
                for partition in sorted(view.partitions):
                    end = (await reader.list_offset(topic, partition, LATEST)).offset
                    position = 0
                    while position < end:
                        fetched = await reader.fetch(topic, partition, position, AT_ONCE)
                        position = fetched.next_offset
                        for record in fetched.records:
                            assert record.value is not None
                            assert record.value not in found
                            found[record.value] = partition, record.offset
            return found

        return await self._process.start(read())


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))
