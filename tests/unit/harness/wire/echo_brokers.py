"""A broker of a few lines on a real socket, a client of raw frames, and the proxy between them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from harness.wire.message import with_length
from harness.wire.proxy import Proxy
from tests.unit.harness.wire.builders import reply_frame, request_frame

PATIENCE_S = 20.0
LOOPBACK = "127.0.0.1"


def heartbeat(number: int, *, client_id: str = "tester") -> bytes:
    body = m.HeartbeatRequest(group_id="g")
    return request_frame(ApiKey.HEARTBEAT, 4, body, number, client_id)


def answer_to(request: bytes) -> bytes:
    """To a heartbeat, that all is well."""
    number = int.from_bytes(request[4:8], "big")
    return reply_frame(ApiKey.HEARTBEAT, 4, m.HeartbeatResponse(), number)


def number_of(reply: bytes) -> int:
    return int.from_bytes(reply[:4], "big")


@dataclass
class EchoBroker:
    """Remembers every request, and answers as it is told to."""

    answer: Callable[[bytes], bytes] = answer_to
    got: list[bytes] = field(default_factory=list)
    port: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                request = await reader.readexactly(size)
                self.got.append(request)
                writer.write(with_length(self.answer(request)))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    @property
    def numbers(self) -> list[int]:
        return [int.from_bytes(request[4:8], "big") for request in self.got]


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(map(with_length, frames)))

    async def reply(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)

    async def ask(self, number: int) -> int:
        """The number of the reply that comes next."""
        self.send(heartbeat(number))
        return number_of(await self.reply())

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return


@dataclass
class Stage:
    proxy: Proxy
    broker: EchoBroker
    port: int
    clients: list[RawClient] = field(default_factory=list)

    async def client(self) -> RawClient:
        made = RawClient(*await asyncio.open_connection(LOOPBACK, self.port))
        self.clients.append(made)
        return made


def listening() -> socket.socket:
    made = socket.create_server((LOOPBACK, 0))
    made.setblocking(False)
    return made


@asynccontextmanager
async def stage(
    answer: Callable[[bytes], bytes] = answer_to, *, peer: str = "clients"
) -> AsyncIterator[Stage]:
    """A broker called n1 with a proxy before it; every client is called `peer`."""
    broker = EchoBroker(answer)
    server = await asyncio.start_server(broker.serve, LOOPBACK, 0)
    broker.port = server.sockets[0].getsockname()[1]
    proxy = Proxy(lambda _: peer)
    listener = listening()
    set_before = Stage(proxy, broker, listener.getsockname()[1])

    async def dial() -> socket.socket:
        dialled = socket.socket()
        dialled.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(dialled, (LOOPBACK, broker.port))
        except OSError:
            dialled.close()
            raise
        return dialled

    proxy.stand_before("n1", listener, dial)
    try:
        yield set_before
    finally:
        await asyncio.gather(*(client.close() for client in set_before.clients))
        await proxy.close()
        server.close()
        for writer in broker.writers:
            writer.close()
        await asyncio.sleep(0)
        await server.wait_closed()
