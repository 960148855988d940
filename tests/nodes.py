"""A whole node on a disk in memory behind real sockets, and a client that speaks raw frames."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from random import Random
from typing import Any

from broker.config.broker import BrokerConfig
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.identity import Identity, text_of_id, write_identity
from broker.metadata.changes import Change
from broker.network.interface import Address
from broker.network.sockets import SocketNetwork
from broker.node import Node
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.quorum.metadata_log import MetadataLog
from broker.world import WallClock, World
from tests.unit.broker.log.builders import Clock

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
PATIENCE_S = 20.0

_lives = count(1)  # no two lives of a node draw the same ids


async def formatted(disk: Disk, *, directory: int = 1) -> Disk:
    directory_id = text_of_id(directory.to_bytes(16, "big"))
    await write_identity(
        disk, Identity(cluster_id=CLUSTER_ID, node_id=1, directory_id=directory_id)
    )
    return disk


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - whatever is waited for knows no event
            await asyncio.sleep(0.002)


@asynccontextmanager
async def running_node(
    properties: dict[str, str] | None = None,
    *,
    disks: dict[str, Disk] | None = None,
    clock: WallClock | None = None,
) -> AsyncIterator[Node]:
    """`disks` that were used before are opened again, so a restart is two of these in a row."""
    if disks is None:
        disks = {"data": await formatted(MemoryDisk())}
    config = BrokerConfig.of(
        {
            "node.id": "1",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": ",".join(disks),
            **(properties or {}),
        }
    )
    world = World(
        disks=disks, network=SocketNetwork(), clock=clock or Clock(), random=Random(next(_lives))
    )
    node = await Node.start(config, world)
    try:
        yield node
    finally:
        await node.stop()


async def commit_while_stopped(disk: Disk, changes: Sequence[Change]) -> None:
    """As a crash leaves it: they are in the metadata log, and nothing was done about them."""
    log = await MetadataLog.open(disk, Clock(), 1 << 20)
    await log.append(changes, log.last_epoch)
    await log.flush()
    await log.close()


class Wire:
    """One connection of a client that waits for nothing and believes nothing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._correlation_id = 0

    @classmethod
    async def connect(cls, address: Address) -> Wire:
        return cls(*await asyncio.open_connection(address.host, address.port))

    def frame(self, key: ApiKey, version: int, body: Any) -> bytes:
        self._correlation_id += 1
        header = m.RequestHeader(
            api_key=key,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id="wire",
        )
        return b"".join(frames.request_frame(header, codec.encode_request(key, version, body)))

    async def answer(self, key: ApiKey, version: int) -> tuple[int, Any]:
        """The next answer's correlation id and body."""
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            frame = await self.reader.readexactly(size)
        header, at = frames.decode_response_header(key, version, frame)
        body, end = codec.decode_response(key, version, memoryview(frame), at)
        assert end == len(frame)
        return header.correlation_id, body

    async def ask(self, key: ApiKey, version: int, body: Any) -> Any:
        self.writer.write(self.frame(key, version, body))
        correlation_id, answer = await self.answer(key, version)
        assert correlation_id == self._correlation_id
        return answer

    async def is_closed(self) -> bool:
        """Waits until the broker ends the connection; whatever it sends before is ignored."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while await self.reader.read(1 << 16):
                    pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def wire(node: Node) -> AsyncIterator[Wire]:
    connection = await Wire.connect(node.advertised)
    try:
        yield connection
    finally:
        await connection.close()


async def create_topic(connection: Wire, name: str, partitions: int = 1, **configs: str) -> None:
    answer = await connection.ask(
        ApiKey.CREATE_TOPICS,
        7,
        m.CreateTopicsRequest(
            timeout_ms=10_000,
            topics=[
                m.CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=1,
                    configs=[
                        m.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                        for key, value in configs.items()
                    ],
                )
            ],
        ),
    )
    assert [each.error_code for each in answer.topics] == [0], answer


def produce_request(records: Any, topic: str = "t", index: int = 0, acks: int = -1) -> Any:
    return m.ProduceRequest(
        acks=acks,
        timeout_ms=10_000,
        topic_data=[
            m.TopicProduceData(
                name=topic, partition_data=[m.PartitionProduceData(index=index, records=records)]
            )
        ],
    )


async def produce(
    connection: Wire, records: Any, topic: str = "t", index: int = 0, acks: int = -1
) -> m.PartitionProduceResponse:
    answer = await connection.ask(ApiKey.PRODUCE, 9, produce_request(records, topic, index, acks))
    part: m.PartitionProduceResponse = answer.responses[0].partition_responses[0]
    return part


def fetch_request(offset: int, topic: str = "t", index: int = 0, **fields: Any) -> m.FetchRequest:
    return m.FetchRequest(
        **{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields},
        topics=[
            m.FetchTopic(
                topic=topic,
                partitions=[
                    m.FetchPartition(
                        partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
                    )
                ],
            )
        ],
    )


async def fetch(
    connection: Wire, offset: int, topic: str = "t", index: int = 0, **fields: Any
) -> m.FetchResponsePartitionData:
    answer = await connection.ask(ApiKey.FETCH, 12, fetch_request(offset, topic, index, **fields))
    part: m.FetchResponsePartitionData = answer.responses[0].partitions[0]
    return part
