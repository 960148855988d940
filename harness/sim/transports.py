"""asyncio's own transports over the simulated network, so that third-party clients run in it.

`loop.create_connection` and `loop.create_server` end here. TLS does not: it would need the bytes
of a random generator that no seed decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from broker.network.interface import Address
from harness.sim.connection import SimConnection
from harness.sim.loop import SimLoop, SimulationError
from harness.sim.network import SimListener, SimNetwork

_HIGH_WATER_BYTES = 64 << 10

ProtocolFactory = Callable[[], asyncio.BaseProtocol]


class SimTransport(asyncio.Transport):
    """The receiver of a simulated connection, and the transport of an asyncio protocol."""

    def __init__(
        self, loop: SimLoop, connection: SimConnection, protocol: asyncio.BaseProtocol
    ) -> None:
        super().__init__(
            {"peername": tuple(connection.peer), "sockname": tuple(connection.own_address)}
        )
        self._loop = loop
        self._connection = connection
        self._protocol: Any = protocol
        self._is_closing = False
        self._is_eof_sent = False
        self._is_writing_paused = False
        self._high_bytes = _HIGH_WATER_BYTES
        self._low_bytes = _HIGH_WATER_BYTES // 4

    def begin(self) -> None:
        """As asyncio does: first the protocol learns of the connection, then bytes may come."""
        self._protocol.connection_made(self)
        if not self._connection.is_closed:
            self._connection.start(self, take_bytes=self._take, on_end=self._on_end)

    # What a protocol or a stream does

    def get_protocol(self) -> asyncio.BaseProtocol:
        return cast("asyncio.BaseProtocol", self._protocol)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        # When a run is over, streams that were never closed are nobody's fault.
        return self._is_closing or self._loop.is_over

    def is_reading(self) -> bool:
        return self._connection.is_reading

    def pause_reading(self) -> None:
        self._connection.pause_reading()

    def resume_reading(self) -> None:
        self._connection.resume_reading()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_eof_sent:
            raise RuntimeError("Cannot call write() after write_eof()")
        if data and not self._is_closing:
            self._connection.send((bytes(data),))
            self._pause_writing_if_full()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._is_closing and not self._is_eof_sent:
            self._is_eof_sent = True
            if not self._connection.unsent_bytes:
                self._connection.send_end()

    def close(self) -> None:
        """What is unsent leaves first, as asyncio promises."""
        if not self._is_closing:
            self._is_closing = True
            self._connection.pause_reading()
            if not self._connection.unsent_bytes:
                self._loop.call_soon(self._connection.close)

    def abort(self) -> None:
        self._is_closing = True
        self._loop.call_soon(self._connection.abort)

    def get_write_buffer_size(self) -> int:
        return self._connection.unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low_bytes, self._high_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = _HIGH_WATER_BYTES if low is None else 4 * low
        self._high_bytes = high
        self._low_bytes = high // 4 if low is None else low
        self._pause_writing_if_full()

    def _pause_writing_if_full(self) -> None:
        if self._connection.unsent_bytes > self._high_bytes and not self._is_writing_paused:
            self._is_writing_paused = True
            self._protocol.pause_writing()

    # What the connection does

    def _take(self, data: bytes) -> None:
        if isinstance(self._protocol, asyncio.BufferedProtocol):
            self._fill_buffers(memoryview(data))
        else:
            self._protocol.data_received(data)

    def _fill_buffers(self, data: memoryview) -> None:
        while data and not self._is_closing:
            buffer = memoryview(self._protocol.get_buffer(len(data))).cast("B")
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            self._protocol.buffer_updated(count)

    def _on_end(self) -> bool:
        return bool(self._protocol.eof_received()) and not self._is_eof_sent

    def receive_buffers(self) -> Sequence[memoryview]:
        raise AssertionError("a transport takes bytes")

    def received(self, count: int) -> None:
        raise AssertionError("a transport takes bytes")

    def drained(self) -> None:
        if self._is_writing_paused:
            self._is_writing_paused = False
            self._protocol.resume_writing()
        if self._is_closing:
            self._connection.close()
        elif self._is_eof_sent:
            self._connection.send_end()

    def closed(self, error: Exception | None) -> None:
        self._is_closing = True
        self._loop.call_soon(self._protocol.connection_lost, error)


class SimServer(asyncio.AbstractServer):
    def __init__(self, loop: SimLoop, listener: SimListener) -> None:
        self._loop = loop
        self._listener = listener
        self._ended: asyncio.Future[None] = loop.create_future()

    @property
    def sockets(self) -> tuple[BoundSocket, ...]:
        return () if self._ended.done() else (BoundSocket(self._listener.address),)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return not self._ended.done()

    def close(self) -> None:
        self._listener.stop()
        if not self._ended.done():
            self._ended.set_result(None)

    async def start_serving(self) -> None:
        """It does from the beginning."""

    async def serve_forever(self) -> None:
        try:
            await asyncio.shield(self._ended)
        finally:
            self.close()

    async def wait_closed(self) -> None:
        """Connections may outlive their server, as they do on Python 3.11."""


class BoundSocket:
    """As much of a socket as one needs to learn the port."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def getsockname(self) -> tuple[str, int]:
        return self._address.host, self._address.port


class StockCalls:
    """What `SimLoop` does when asyncio's own calls for networking are used on it."""

    def __init__(self, network: SimNetwork) -> None:
        self._network = network
        self._loop = network.loop
        network.loop.stock_calls = self

    async def create_connection(
        self, protocol_factory: ProtocolFactory, host: str | None, port: int | None, options: Any
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        _refuse_options(options)
        if host is None or port is None:
            raise ValueError("a simulated connection needs a host and a port")
        name = self._host_name()
        connection = await self._network.of(name).connect(Address(host, port))
        protocol = protocol_factory()
        transport = SimTransport(self._loop, connection, protocol)
        transport.begin()
        return transport, protocol

    async def create_server(
        self,
        protocol_factory: ProtocolFactory,
        host: str | Sequence[str] | None,
        port: int | None,
        options: Any,
    ) -> SimServer:
        _refuse_options(options)
        name = self._host_name()
        if host is not None and not isinstance(host, str):
            [host] = host

        def accept(connection: SimConnection) -> None:
            SimTransport(self._loop, connection, protocol_factory()).begin()

        listener = await self._network.of(name).listen(Address(host or "", port or 0), accept)
        return SimServer(self._loop, listener)

    def _host_name(self) -> str:
        return self._loop.present_life().host


def _refuse_options(options: dict[str, Any]) -> None:
    for name in ("ssl", "sock"):
        if options.get(name) is not None:
            raise SimulationError(
                f"{name}= has no meaning in the simulator; connect in plain text, by host and port"
            )
