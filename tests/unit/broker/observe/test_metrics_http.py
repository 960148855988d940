"""GET /metrics over a connection, and nothing else."""

from collections.abc import Callable, Sequence

import pytest

from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address, Connection, Listener, Receiver
from broker.observe.metrics_http import MetricsServer


class Pipe:
    """One connection in memory: what is written to it is answered at once."""

    def __init__(self, *, slow: bool = False) -> None:
        self.peer = Address("127.0.0.1", 1)
        self.unsent_bytes = 0
        self.sent = b""
        self.is_closed = False
        self._slow = slow
        self._receiver: Receiver | None = None

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def type(self, content: bytes) -> None:
        assert self._receiver is not None
        while content and not self.is_closed:
            [buffer] = self._receiver.receive_buffers()
            count = min(len(buffer), len(content))
            buffer[:count] = content[:count]
            content = content[count:]
            self._receiver.received(count)

    def send(self, chunks: Sequence[Buffer | FileSlice]) -> None:
        for chunk in chunks:
            assert not isinstance(chunk, FileSlice)
            self.sent += bytes(chunk)
        if self._slow:
            self.unsent_bytes = len(self.sent)

    def drain(self) -> None:
        assert self._receiver is not None
        self.unsent_bytes = 0
        self._receiver.drained()

    def send_file(self, piece: FileSlice) -> None:
        raise AssertionError("nobody sends files here")

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            assert self._receiver is not None
            self._receiver.closed(None)


class PipeNetwork:
    def __init__(self) -> None:
        self.accept: Callable[[Connection], None]

    async def listen(
        self, address: Address, on_connection: Callable[[Connection], None]
    ) -> Listener:
        self.accept = on_connection
        return self._Listener(address)

    async def connect(self, address: Address) -> Connection:
        raise ConnectionRefusedError

    class _Listener:
        def __init__(self, address: Address) -> None:
            self.address = address

        async def close(self) -> None:
            pass


async def body() -> bytes:
    return b"up 1\n"


async def served(*typed: bytes, slow: bool = False) -> Pipe:
    network = PipeNetwork()
    server = MetricsServer(body, "text/plain")
    await server.listen(network, Address("127.0.0.1", 0))
    pipe = Pipe(slow=slow)
    network.accept(pipe)
    for piece in typed:
        pipe.type(piece)
    for task in list(server.tasks):
        await task
    if not slow and not pipe.is_closed:
        await server.close()
    return pipe


async def test_a_scrape_is_answered_and_the_connection_closed() -> None:
    pipe = await served(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    assert pipe.sent == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
        b"Connection: close\r\n\r\nup 1\n"
    )
    assert pipe.is_closed


async def test_a_request_may_come_byte_by_byte() -> None:
    request = b"GET /metrics?x=1 HTTP/1.1\r\n\r\n"
    pipe = await served(*(request[at : at + 1] for at in range(len(request))))
    assert pipe.sent.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET / HTTP/1.1", b"404"),
        (b"POST /metrics HTTP/1.1", b"405"),
        (b"GET /metrics", b"400"),
        (b"\x00\x01\x02", b"400"),
    ],
)
async def test_anything_else_is_refused(request_line: bytes, status: bytes) -> None:
    pipe = await served(request_line + b"\r\n\r\n")
    assert pipe.sent.split(b" ")[1] == status
    assert pipe.is_closed


async def test_an_endless_request_is_cut_off() -> None:
    pipe = await served(b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 100_000)
    assert pipe.sent.startswith(b"HTTP/1.1 431")
    assert pipe.is_closed


async def test_a_slow_reader_gets_all_before_the_end() -> None:
    pipe = await served(b"GET /metrics HTTP/1.1\r\n\r\n", slow=True)
    assert not pipe.is_closed
    pipe.drain()
    assert pipe.is_closed


async def test_too_many_at_once_are_turned_away() -> None:
    network = PipeNetwork()
    server = MetricsServer(body, "text/plain")
    await server.listen(network, Address("127.0.0.1", 0))
    pipes = [Pipe() for _ in range(32)]
    for pipe in pipes:
        network.accept(pipe)
    late = Closed()
    network.accept(late)
    assert late.is_closed
    await server.close()
    assert all(pipe.is_closed for pipe in pipes)


class Closed(Pipe):
    """Refused before it was started."""

    def close(self) -> None:
        self.is_closed = True
