"""A whole node on a memory disk, for tests of handlers: real logs, no sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import TypeVar

from broker.api.request import Request
from broker.config.broker import BrokerConfig
from broker.disk.memory import MemoryDisk
from broker.log.identity import Identity, write_identity
from broker.log.record_check import WorkBudget
from broker.network.interface import Address, Connection, Listener
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.records import Record, build_batch
from broker.world import World

Body = TypeVar("Body")

CLUSTER_ID = "abcdefghijklmnopqrstug"

_lives = count(7)  # no two lives of a node draw the same ids


class StillClock:
    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms


class _Listener:
    def __init__(self, address: Address) -> None:
        self.address = address

    async def close(self) -> None:
        pass


class NobodyNetwork:
    """Listens, and nobody ever connects."""

    async def listen(
        self, address: Address, on_connection: Callable[[Connection], None]
    ) -> Listener:
        return _Listener(Address(address.host, address.port or 9092))

    async def connect(self, address: Address) -> Connection:
        raise ConnectionRefusedError(str(address))


@asynccontextmanager
async def running_node(
    properties: Mapping[str, str] | None = None,
    disks: Mapping[str, MemoryDisk] | None = None,
    *,
    boot_id: str = "",
) -> AsyncIterator[Node]:
    disks = disks or {"data": MemoryDisk()}
    config = BrokerConfig.of(
        {
            "node.id": "1",
            "listeners": "PLAINTEXT://localhost:9092",
            "log.dirs": ",".join(disks),
            **(properties or {}),
        }
    )
    for path, disk in disks.items():
        if "meta.properties" not in await disk.list(""):
            identity = Identity(cluster_id=CLUSTER_ID, node_id=1, directory_id=f"id-of-{path}")
            await write_identity(disk, identity)
    world = World(
        disks=disks,
        network=NobodyNetwork(),
        clock=StillClock(),
        random=Random(next(_lives)),
        boot_id=boot_id,
    )
    node = await Node.start(config, world)
    await asyncio.sleep(0)  # so that the node's chores have begun before it is stopped
    try:
        yield node
    finally:
        await node.stop()


def ask(api_key: ApiKey, body: Body, version: int | None = None) -> Request[Body]:
    newest = API_VERSIONS[api_key][1]
    return Request(
        api_key=api_key,
        version=newest if version is None else version,
        correlation_id=1,
        client_id="test",
        peer=Address("127.0.0.1", 1),
        body=body,
    )


async def create_topic(node: Node, name: str, partitions: int = 1, **configs: str) -> bytes:
    """Through the handler; gives the topic's id. Underscores in names stand for dots."""
    from broker.api.create_topics import create_topics

    topic = m.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            m.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    body = m.CreateTopicsRequest(topics=[topic])
    answer = await create_topics(node, ask(ApiKey.CREATE_TOPICS, body))
    assert answer.topics[0].error_code == 0, answer.topics[0].error_message
    return answer.topics[0].topic_id


def append(node: Node, topic: str, count: int, producer_id: int = -1) -> None:
    partition = node.partitions.find(topic, 0)
    assert partition is not None
    records = [Record(offset, 1_700_000_000_000, b"k", b"v" * 10) for offset in range(count)]
    batch = build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
    )
    assert partition.append_at_once(memoryview(batch), WorkBudget()) is not None
