"""Cuts request frames out of a socket with the least that asyncio allows.

The way of receiving is the broker's (a reader callback and recv_into a large buffer), so what
a bare server reaches is what the broker could reach if its own work cost nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import struct
from collections.abc import Callable

BUFFER_BYTES = 4 * 1024 * 1024
# How much to read while the size of the next frame is unknown. Never further than the end of
# a large frame, so that nothing large is ever moved to the front of the buffer.
LOOK_AHEAD_BYTES = 64 * 1024
# The length, the api key, its version and the correlation id.
HEADER_BYTES = 12

# The connection, the api key, the correlation id as it came, and the frame behind its length.
Answer = Callable[[socket.socket, int, bytes, memoryview], None]


class BareConnection:
    """Calls `answer` for each whole frame; what it is given is good until it returns."""

    def __init__(self, connection: socket.socket, answer: Answer) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = connection
        self._answer = answer
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._wanted = LOOK_AHEAD_BYTES
        self._loop.add_reader(connection.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            count = self._socket.recv_into(self._view[self._filled : self._wanted])
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if count == 0:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            return
        self._filled += count
        self._cut()

    def _cut(self) -> None:
        start, size = 0, 0
        while self._filled - start >= HEADER_BYTES:
            (size, api_key) = struct.unpack_from(">ih", self._view, start)
            end = start + 4 + size
            if end > self._filled:
                break
            correlation_id = bytes(self._view[start + 8 : start + 12])
            self._answer(self._socket, api_key, correlation_id, self._view[start + 4 : end])
            start, size = end, 0
        if start:
            rest = self._filled - start
            self._view[:rest] = self._view[start : self._filled]
            self._filled = rest
        self._wanted = max(4 + size, LOOK_AHEAD_BYTES)


async def serve(answer: Answer) -> None:
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    print(f"ready on 127.0.0.1:{listener.getsockname()[1]}", flush=True)
    accepting = asyncio.create_task(_accept(listener, answer))
    await end.wait()
    accepting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await accepting
    listener.close()


async def _accept(listener: socket.socket, answer: Answer) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listener)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        BareConnection(connection, answer)
