"""A network whose other end is the test: it sees each request, and answers when it likes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address, Connection, Listener, Receiver
from broker.protocol import codec, frames
from broker.protocol.apis import ApiKey


class Asked(NamedTuple):
    """One request that reached the other end."""

    connection: FakeConnection
    api_key: ApiKey
    version: int
    correlation_id: int
    client_id: str | None
    body: Any

    def answer(self, body: Any) -> None:
        encoded = codec.encode_response(self.api_key, self.version, body)
        chunks = frames.response_frame(self.api_key, self.version, self.correlation_id, encoded)
        self.connection.bring(b"".join(bytes(each) for each in chunks))


class FakeConnection:
    def __init__(self, network: FakeNetwork, peer: Address) -> None:
        self.peer = peer
        self.unsent_bytes = 0
        self.is_closed = False
        self._network = network
        self._receiver: Receiver | None = None

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, chunks: Sequence[Buffer | FileSlice]) -> None:
        assert not self.is_closed
        content = memoryview(b"".join(bytes(each) for each in chunks))[4:]  # type: ignore[arg-type]
        header, at = frames.decode_request_header(content)
        key = ApiKey(header.api_key)
        body, _ = codec.decode_request(key, header.api_version, content, at)
        self._network.asked.append(
            Asked(self, key, header.api_version, header.correlation_id, header.client_id, body)
        )

    def send_file(self, piece: FileSlice) -> None:
        raise AssertionError("nobody asks for files")

    def pause_reading(self) -> None:
        raise AssertionError("answers are always read")

    def resume_reading(self) -> None:
        raise AssertionError("answers are always read")

    def close(self) -> None:
        self.lose(None)

    # What the test does

    def bring(self, content: bytes) -> None:
        assert self._receiver is not None
        while content and not self.is_closed:
            [buffer] = self._receiver.receive_buffers()
            count = min(len(buffer), len(content))
            buffer[:count] = content[:count]
            content = content[count:]
            self._receiver.received(count)

    def lose(self, error: Exception | None) -> None:
        if not self.is_closed:
            self.is_closed = True
            if self._receiver is not None:
                self._receiver.closed(error)


class FakeNetwork:
    """`refusals` are raised one by one by the next attempts to connect."""

    def __init__(self, *refusals: OSError) -> None:
        self.refusals = list(refusals)
        self.asked: list[Asked] = []
        self.connections: list[FakeConnection] = []
        self.attempts_at: list[float] = []
        self.hangs = False

    async def listen(
        self, address: Address, on_connection: Callable[[Connection], None]
    ) -> Listener:
        raise AssertionError("nobody listens here")

    async def connect(self, address: Address) -> FakeConnection:
        self.attempts_at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0)
        if self.hangs:
            await asyncio.sleep(1e6)
        if self.refusals:
            raise self.refusals.pop(0)
        connection = FakeConnection(self, address)
        self.connections.append(connection)
        return connection
