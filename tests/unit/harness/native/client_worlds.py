"""What the client's tests run against: a whole node, networks that cut, brokers by the book."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address, Connection, Listener, Network, Receiver
from broker.network.sockets import SocketNetwork
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from harness.native.client import Client
from harness.native.settings import ClientSettings
from harness.wire.message import Message
from harness.wire.tracker import ConnectionTracker, FrameReader

HASTY = ClientSettings(
    connect_timeout_s=2.0,
    request_timeout_s=2.0,
    metadata_timeout_s=1.0,
    call_timeout_s=5.0,
    delivery_timeout_s=15.0,
    reconnect_backoff_s=0.001,
    reconnect_backoff_max_s=0.01,
    retry_backoff_s=0.001,
    retry_backoff_max_s=0.01,
)


@asynccontextmanager
async def client_of(
    *addresses: Address, network: Network | None = None, settings: ClientSettings = HASTY
) -> AsyncIterator[Client]:
    """And nothing is left running when it is closed."""
    client = Client(
        network or SocketNetwork(),
        addresses,
        random=Random(7),
        now_ms=lambda: 1_700_000_000_000,
        settings=settings,
    )
    async with client:
        yield client
    for link in client.nodes._links.values():
        assert not link.is_open
    for producer in client._producers:
        assert all(sender._task.done() for sender in producer._senders.values())


Decide = Callable[[Message], str]
"""What to do with a message: "pass", "cut before" it or "cut after" it."""


class CuttingNetwork:
    """Real sockets whose connections break at chosen messages, seen from the client's side."""

    def __init__(self, decide: Decide) -> None:
        self._inner = SocketNetwork()
        self._decide = decide
        self.cuts = 0

    async def listen(
        self, address: Address, on_connection: Callable[[Connection], None]
    ) -> Listener:
        return await self._inner.listen(address, on_connection)

    async def connect(self, address: Address) -> Connection:
        return CuttingConnection(await self._inner.connect(address), self)

    def decide(self, message: Message) -> str:
        decision = self._decide(message)
        self.cuts += decision != "pass"
        return decision


class CuttingConnection:
    """Takes the place of the connection for the client, and of the client for the connection."""

    def __init__(self, inner: Connection, network: CuttingNetwork) -> None:
        self.peer = inner.peer
        self._inner = inner
        self._network = network
        self._tracker = ConnectionTracker(connection="c", client="client", server="n1")
        self._requests = FrameReader()
        self._replies = FrameReader()
        self._receiver: Receiver | None = None
        self._is_cut = False

    @property
    def unsent_bytes(self) -> int:
        return self._inner.unsent_bytes

    @unsent_bytes.setter
    def unsent_bytes(self, value: int) -> None:
        raise AssertionError("for the network to say")

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._inner.start(self)

    def send(self, chunks: Sequence[Buffer | FileSlice]) -> None:
        for chunk in () if self._is_cut else chunks:
            assert not isinstance(chunk, FileSlice)
            for frame in self._requests.feed(chunk):
                message = self._tracker.request(frame)
                decision = self._network.decide(message)
                if decision == "cut before":
                    # Told later, as by a real network. A stream has no holes: what is sent
                    # meanwhile must not arrive either.
                    self._is_cut = True
                    asyncio.get_running_loop().call_soon(self._inner.close)
                    return
                self._inner.send((message.on_the_wire,))
                if decision == "cut after":
                    asyncio.get_running_loop().call_later(0.002, self._inner.close)

    def send_file(self, piece: FileSlice) -> None:
        raise AssertionError("a client sends no files")

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def close(self) -> None:
        self._inner.close()

    # As the receiver of the real connection

    def receive_buffers(self) -> Sequence[memoryview]:
        self._buffer = memoryview(bytearray(1 << 16))
        return (self._buffer,)

    def received(self, count: int) -> None:
        for frame in self._replies.feed(self._buffer[:count]):
            message = self._tracker.reply(frame)
            decision = self._network.decide(message)
            if decision != "cut before":
                self._hand_over(message.on_the_wire)
            if decision != "pass":
                self._inner.close()
                return

    def drained(self) -> None:
        assert self._receiver is not None
        self._receiver.drained()

    def closed(self, error: Exception | None) -> None:
        assert self._receiver is not None
        self._receiver.closed(error)

    def _hand_over(self, data: bytes) -> None:
        assert self._receiver is not None
        while data:
            buffer = self._receiver.receive_buffers()[0]
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self._receiver.received(count)
            data = data[count:]


Answer = Callable[[Message], Awaitable[Any]]


class ScriptedBroker:
    """Answers from a script by API; ApiVersions and Metadata by the book unless scripted too."""

    def __init__(self, node_id: int = 1) -> None:
        self.node_id = node_id
        self.address = Address("127.0.0.1", 0)
        self.asked: list[Message] = []
        self.script: dict[ApiKey, Answer] = {}
        self.topics: list[m.MetadataResponseTopic] = []
        self.brokers: list[ScriptedBroker] = [self]
        self.controller_id = node_id
        self.served = dict(API_VERSIONS)
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = Address(*self._server.sockets[0].getsockname()[:2])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
        self.cut()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def count(self, key: ApiKey) -> int:
        return sum(message.api_key == key for message in self.asked)

    def set_leader(self, topic: str, leader: int, epoch: int, topic_id: bytes = bytes(16)) -> None:
        part = m.MetadataResponsePartition(
            partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2]
        )
        self.topics = [m.MetadataResponseTopic(name=topic, topic_id=topic_id, partitions=[part])]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        tracker = ConnectionTracker(connection="c", client="client", server=str(self.node_id))
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                message = tracker.request(await reader.readexactly(size))
                self.asked.append(message)
                body = await self._answer(message)
                if body is None:
                    continue
                encoded = codec.encode_response(message.api_key, message.api_version, body)
                chunks = frames.response_frame(
                    message.api_key, message.api_version, message.correlation_id, encoded
                )
                writer.write(b"".join(chunks))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, message: Message) -> Any:
        key = ApiKey(message.api_key)
        if key in self.script:
            return await self.script[key](message)
        if key == ApiKey.API_VERSIONS:
            served = [
                m.ApiVersion(api_key=each, min_version=first, max_version=last)
                for each, (first, last) in self.served.items()
            ]
            return m.ApiVersionsResponse(api_keys=served)
        if key == ApiKey.METADATA:
            return self.metadata()
        if key == ApiKey.INIT_PRODUCER_ID:
            return m.InitProducerIdResponse(producer_id=self.count(key), producer_epoch=0)
        raise AssertionError(f"nobody expects {message.api_name}")

    def metadata(self) -> m.MetadataResponse:
        return m.MetadataResponse(
            brokers=[
                m.MetadataResponseBroker(
                    node_id=each.node_id, host=each.address.host, port=each.address.port
                )
                for each in self.brokers
            ],
            cluster_id="scripted",
            controller_id=self.controller_id,
            topics=self.topics,
        )


@asynccontextmanager
async def scripted(*brokers: ScriptedBroker) -> AsyncIterator[None]:
    """They know each other from the start."""
    for broker in brokers:
        await broker.start()
        broker.brokers = list(brokers)
    try:
        yield
    finally:
        for broker in brokers:
            await broker.stop()


def produce_answer(code: int = 0, offset: int = 0, **fields: Any) -> m.ProduceResponse:
    part = m.PartitionProduceResponse(index=0, error_code=code, base_offset=offset, **fields)
    return m.ProduceResponse(
        responses=[m.TopicProduceResponse(name="t", partition_responses=[part])]
    )
