"""A connection to one node, for questions about its cluster that may well stay unanswered.

It is opened where clients live and used from the run's own loop. Whatever goes wrong closes it; the
next question opens it again, after a pause that grows while the node keeps its silence: a paused
node takes connections without end, and would find them all when it wakes.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from harness.cluster.base import Place
from harness.errors import EnvironmentFailure
from harness.wire.cluster_state import (
    LedPartition,
    QuorumLeader,
    ask_leaders,
    ask_quorum,
    told_leaders,
    told_quorum,
)

_LENGTH = struct.Struct(">i")
_FRAME_BYTES_MAX = 4 << 20
_PAUSE_S, _PAUSE_MAX_S = 0.5, 4.0

_Told = TypeVar("_Told")


class ClusterLine:
    def __init__(self, place: Place, address: str, port: int) -> None:
        self._place = place
        self._address = address
        self._port = port
        self._socket: socket.socket | None = None
        self._opening: asyncio.Task[socket.socket] | None = None
        self._asked = 0
        self._pause_s = 0.0
        self._not_before_s = 0.0

    async def leaders(
        self, topics: Sequence[str], within_s: float
    ) -> Mapping[str, LedPartition] | None:
        """By key; None if there is no answer in time, or it is too early to ask again."""
        return await self._ask(lambda number: ask_leaders(topics, number), told_leaders, within_s)

    async def quorum(self, within_s: float) -> QuorumLeader | None:
        return await self._ask(ask_quorum, told_quorum, within_s)

    async def close(self) -> None:
        self._hang_up()
        if self._opening is not None:
            with suppress(OSError, EnvironmentFailure):
                (await self._opening).close()
            self._opening = None

    async def _ask(
        self,
        question: Callable[[int], bytes],
        told: Callable[[bytes, int], _Told],
        within_s: float,
    ) -> _Told | None:
        now_s = asyncio.get_running_loop().time
        if now_s() < self._not_before_s:
            return None
        self._asked += 1
        try:
            async with asyncio.timeout(within_s):
                answer = told(await self._exchange(question(self._asked)), self._asked)
        except (OSError, ValueError, EnvironmentFailure):
            self._hang_up()
            self._pause_s = min(_PAUSE_MAX_S, max(_PAUSE_S, 2 * self._pause_s))
            self._not_before_s = now_s() + self._pause_s
            return None
        except BaseException:
            # Half an answer may be on its way, which would pass for the next one.
            self._hang_up()
            raise
        self._pause_s = 0.0
        return answer

    async def _exchange(self, request: bytes) -> bytes:
        loop, line = asyncio.get_running_loop(), await self._opened()
        await loop.sock_sendall(line, request)
        (size,) = _LENGTH.unpack(await _exactly(line, _LENGTH.size))
        if not 0 <= size <= _FRAME_BYTES_MAX:
            raise ValueError(f"a frame of {size} bytes")
        return await _exactly(line, size)

    async def _opened(self) -> socket.socket:
        if self._socket is None:
            if self._opening is None:
                self._opening = asyncio.create_task(self._place.ask(self._made))
            # The thread that makes it cannot be called off, so whoever asks next gets it.
            try:
                self._socket = await asyncio.shield(self._opening)
            except (OSError, EnvironmentFailure):
                self._opening = None
                raise
            self._opening = None
            await asyncio.get_running_loop().sock_connect(self._socket, (self._address, self._port))
        return self._socket

    def _made(self) -> socket.socket:
        made = socket.socket(socket.AF_INET6 if ":" in self._address else socket.AF_INET)
        made.setblocking(False)
        return made

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


async def _exactly(line: socket.socket, size: int) -> bytes:
    loop, found = asyncio.get_running_loop(), bytearray()
    while len(found) < size:
        more = await loop.sock_recv(line, size - len(found))
        if not more:
            raise ConnectionError("the node has closed the connection")
        found += more
    return bytes(found)
