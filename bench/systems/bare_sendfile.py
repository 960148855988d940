"""A server that answers every Fetch with a prepared batch: the ceiling of consuming.

Only the base offset is written anew, to be what the reader asked for; the rest of the batch
goes from a file to the socket by sendfile.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
from collections import deque
from pathlib import Path

from bench.loads.frames import FETCH, fetch_response_chunks, partitions_asked_for
from bench.systems.bare_connection import serve
from bench.systems.introductions import body_start, introduce

BATCH_TOP_BYTES = 8


class Outgoing:
    """What a connection has still to send: bytes, or `None` for the prepared batch."""

    def __init__(self, connection: socket.socket, source: int, size: int) -> None:
        self._socket = connection
        self._source = source
        self._size = size
        self._chunks: deque[bytes | None] = deque()
        self._position = BATCH_TOP_BYTES
        self._is_waiting = False

    def add(self, chunks: list[bytes | None]) -> None:
        self._chunks.extend(chunks)
        if not self._is_waiting:
            self._send()

    def _send(self) -> None:
        try:
            while self._chunks:
                chunk = self._chunks[0]
                if chunk is not None:
                    sent = self._socket.send(chunk, socket.MSG_MORE)
                    if sent < len(chunk):
                        self._chunks[0] = chunk[sent:]
                        continue
                else:
                    left = self._size - self._position
                    self._position += os.sendfile(
                        self._socket.fileno(), self._source, self._position, left
                    )
                    if self._position < self._size:
                        continue
                    self._position = BATCH_TOP_BYTES
                self._chunks.popleft()
        except BlockingIOError:
            self._wait()
        except OSError:
            self._chunks.clear()

    def _wait(self) -> None:
        self._is_waiting = True
        asyncio.get_running_loop().add_writer(self._socket.fileno(), self._resume)

    def _resume(self) -> None:
        self._is_waiting = False
        asyncio.get_running_loop().remove_writer(self._socket.fileno())
        self._send()


def main() -> None:
    path = Path(sys.argv[1])
    size = path.stat().st_size
    outgoing: dict[socket.socket, Outgoing] = {}
    with path.open("rb") as prepared:
        source = prepared.fileno()

        def answer(
            connection: socket.socket, api_key: int, correlation_id: bytes, frame: memoryview
        ) -> None:
            if api_key != FETCH:
                introduce(connection, frame)
                return
            if connection not in outgoing:
                outgoing[connection] = Outgoing(connection, source, size)
            name, offsets = partitions_asked_for(frame, body_start(frame))
            chunks: list[bytes | None] = []
            heads = fetch_response_chunks(correlation_id, name, list(offsets), size)
            for head, offset in zip(heads, offsets.values(), strict=True):
                chunks += [head + struct.pack(">q", offset), None]
            outgoing[connection].add(chunks)

        asyncio.run(serve(answer))


if __name__ == "__main__":
    main()
