"""Answers GET /metrics over HTTP/1.1, and nothing else: one bounded request for each connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from broker.network.interface import Address, Connection, Listener, Network

_REQUEST_BYTES_MAX = 8192
_PATIENCE_S = 10.0
_CONNECTIONS_MAX = 32
_END_OF_HEAD = b"\r\n\r\n"

Exposition = Callable[[], Awaitable[bytes]]


class MetricsServer:
    """`exposition` makes the text that Prometheus reads."""

    def __init__(self, exposition: Exposition, content_type: str) -> None:
        self.exposition = exposition
        self.content_type = content_type
        self.connections: dict[_Scrape, None] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._listener: Listener | None = None

    async def listen(self, network: Network, address: Address) -> Address:
        self._listener = await network.listen(address, self._accept)
        return self._listener.address

    async def close(self) -> None:
        if self._listener is not None:
            await self._listener.close()
        for scrape in list(self.connections):
            scrape.connection.close()
        for task in list(self.tasks):
            task.cancel()

    def _accept(self, connection: Connection) -> None:
        if len(self.connections) >= _CONNECTIONS_MAX:
            connection.close()
            return
        scrape = _Scrape(self, connection)
        self.connections[scrape] = None
        connection.start(scrape)


class _Scrape:
    """One connection: a request comes in, an answer goes out, and it is closed."""

    def __init__(self, server: MetricsServer, connection: Connection) -> None:
        self.connection = connection
        self._server = server
        self._buffer = bytearray(_REQUEST_BYTES_MAX)
        self._received = 0
        self._answered = False
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_PATIENCE_S, connection.close)

    def receive_buffers(self) -> Sequence[memoryview]:
        return [memoryview(self._buffer)[self._received :]]

    def received(self, count: int) -> None:
        self._received += count
        if self._answered:
            self._received = 0
            return
        end = self._buffer.find(_END_OF_HEAD, 0, self._received)
        if end >= 0:
            self._respond(bytes(self._buffer[:end]))
        elif self._received == _REQUEST_BYTES_MAX:
            self._answer("431 Request Header Fields Too Large", b"the request is too long\n")

    def _respond(self, head: bytes) -> None:
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            self._answer("400 Bad Request", b"this is not an HTTP/1.1 request\n")
        elif words[0] != b"GET":
            self._answer("405 Method Not Allowed", b"only GET is answered\n", "Allow: GET\r\n")
        elif words[1].split(b"?", 1)[0] != b"/metrics":
            self._answer("404 Not Found", b"metrics are at /metrics\n")
        else:
            self._answered = True
            task = asyncio.get_running_loop().create_task(self._send_metrics())
            self._server.tasks.add(task)
            task.add_done_callback(self._server.tasks.discard)

    async def _send_metrics(self) -> None:
        body = await self._server.exposition()
        if self in self._server.connections:
            self._answer("200 OK", body, f"Content-Type: {self._server.content_type}\r\n")

    def _answer(self, status: str, body: bytes, fields: str = "") -> None:
        self._answered = True
        head = (
            f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.connection.send([head.encode("ascii"), body])
        if self.connection.unsent_bytes == 0:
            self.connection.close()

    def drained(self) -> None:
        if self._answered:
            self.connection.close()

    def closed(self, error: Exception | None) -> None:
        self._timer.cancel()
        self._server.connections.pop(self, None)
