"""A server that acknowledges every Produce and keeps nothing: the ceiling of producing."""

from __future__ import annotations

import asyncio
import socket
import struct

from bench.loads.frames import PRODUCE, produce_response
from bench.systems.bare_connection import serve
from bench.systems.introductions import body_start, introduce


def acknowledge(
    connection: socket.socket, api_key: int, correlation_id: bytes, frame: memoryview
) -> None:
    if api_key != PRODUCE:
        introduce(connection, frame)
        return
    # Behind the transactional id, the acks, the timeout and the number of topics.
    topic = body_start(frame) + 12
    (name_size,) = struct.unpack_from(">h", frame, topic)
    name = bytes(frame[topic + 2 : topic + 2 + name_size])
    (partition,) = struct.unpack_from(">i", frame, topic + 2 + name_size + 4)
    connection.send(produce_response(correlation_id, name, partition))


if __name__ == "__main__":
    asyncio.run(serve(acknowledge))
