"""What the broker may ask of a network. Only the real network touches sockets.

A connection delivers bytes by filling the buffers that its receiver offers, in the manner of
asyncio's BufferedProtocol: nothing is copied on the way from the kernel to the log. A simulator
fills the same buffers from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from broker.disk.interface import Buffer, FileSlice


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Receiver(Protocol):
    """The owner of a connection, told what happens on it. Nothing here may wait."""

    def receive_buffers(self) -> Sequence[memoryview]:
        """Where the next bytes go, in order; filled at once up to what has arrived."""
        ...

    def received(self, count: int) -> None:
        """That many bytes now stand in the buffers offered last."""
        ...

    def drained(self) -> None:
        """Everything sent so far has left for the peer, after `unsent_bytes` was above zero."""
        ...

    def closed(self, error: Exception | None) -> None:
        """Called once, also after our own `close`; nothing else is called afterwards."""
        ...


class Connection(Protocol):
    peer: Address
    unsent_bytes: int

    def start(self, receiver: Receiver) -> None:
        """Reading begins. Called once, by whoever accepted or opened the connection."""
        ...

    def send(self, chunks: Sequence[Buffer | FileSlice]) -> None:
        """Queues in order and never waits; the caller watches `unsent_bytes`.

        Buffers are not copied: they must not change until `drained`.
        """
        ...

    def send_file(self, piece: FileSlice) -> None:
        """By sendfile where the connection can, else by its read-and-send twin."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """At once: what is unsent is dropped."""
        ...


class Listener(Protocol):
    address: Address

    async def close(self) -> None:
        """No new connections; the ones there are stay."""
        ...


class Network(Protocol):
    async def listen(
        self, address: Address, on_connection: Callable[[Connection], None]
    ) -> Listener:
        """Port 0 takes a free one: `Listener.address` says which."""
        ...

    async def connect(self, address: Address) -> Connection: ...
