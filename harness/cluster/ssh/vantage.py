"""From where hosts are reached: the machine on which clients live and from which ssh goes out."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

_CONNECT_WITHIN_S = 10.0

_Answer = TypeVar("_Answer")


class Vantage(Protocol):
    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        """What to execute on this machine so that `argv` runs where the clients live."""
        ...

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """A blocking call, in a thread that is where the clients live."""
        ...

    def dial(self, address: str, port: int) -> socket.socket:
        """A connection to a host's sshd. Blocks."""
        ...


class ThisMachine:
    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        return argv

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        return await asyncio.to_thread(question)

    def dial(self, address: str, port: int) -> socket.socket:
        return socket.create_connection((address, port), _CONNECT_WITHIN_S)


def _check(machine: ThisMachine) -> Vantage:
    """Has mypy hold it to what a place expects."""
    return machine
