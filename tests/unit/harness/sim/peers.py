"""Two hosts that talk over the simulated network, by the broker's seam and by stock streams."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from broker.network.interface import Address
from harness.sim.connection import SimConnection
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation

PORT = 9092


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


class Collector:
    """A receiver that keeps what comes, and when."""

    def __init__(self, simulation: Simulation, buffer_bytes: int = 1 << 16) -> None:
        self.simulation = simulation
        self.connection: SimConnection | None = None
        self.pieces: list[bytes] = []
        self.times_s: list[float] = []
        self.drains = 0
        self.closings: list[Exception | None] = []
        self._buffer = memoryview(bytearray(buffer_bytes))

    def receive_buffers(self) -> Sequence[memoryview]:
        return (self._buffer,)

    def received(self, count: int) -> None:
        self.pieces.append(bytes(self._buffer[:count]))
        self.times_s.append(self.simulation.now_s)

    def drained(self) -> None:
        self.drains += 1

    def closed(self, error: Exception | None) -> None:
        self.closings.append(error)


class Pair:
    """A process on host `a`, and one on host `b` that listens; both collect what they get."""

    def __init__(self, simulation: Simulation, buffer_bytes: int = 1 << 16) -> None:
        self.simulation = simulation
        self.a, self.b = SimProcess(simulation, "a"), SimProcess(simulation, "b")
        self.client = Collector(simulation, buffer_bytes)
        self.server = Collector(simulation, buffer_bytes)
        self.there = simulation.network.link("a", "b")
        self.back = simulation.network.link("b", "a")

    def listen(self) -> asyncio.Task[None]:
        def accept(connection: SimConnection) -> None:
            self.server.connection = connection
            connection.start(self.server)

        async def serve() -> None:
            await self.simulation.network.of("b").listen(Address("b", PORT), accept)

        return self.b.start(serve())

    def dial(self) -> asyncio.Task[None]:
        async def call() -> None:
            connection = await self.simulation.network.of("a").connect(Address("b", PORT))
            self.client.connection = connection
            connection.start(self.client)

        return self.a.start(call())

    async def meet(self) -> tuple[SimConnection, SimConnection]:
        await self.listen()
        await self.dial()
        await asyncio.sleep(1)
        assert self.client.connection is not None
        assert self.server.connection is not None
        return self.client.connection, self.server.connection
