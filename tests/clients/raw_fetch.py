"""A hand-made Fetch, to see what is stored without any client in between.

A client that quietly gives up compression looks the same to every other client; only the
attributes of the stored batch tell. Written by hand in Fetch v4, the oldest that brokers serve,
so that it shares no code with the broker.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from tests.clients.speaker import CODECS, TIMEOUT_S, Codec


def stored_codecs(bootstrap: str, topic: str, partition: int = 0) -> set[Codec]:
    """The codecs of all batches at the start of the partition."""
    return {
        CODECS[struct.unpack_from(">h", batch, 21)[0] & 7]
        for batch in _batches(_fetch(bootstrap, topic, partition))
    }


def _fetch(bootstrap: str, topic: str, partition: int) -> bytes:
    name = topic.encode()
    limit = 10_000_000
    header = struct.pack(">hhih", 1, 4, 7, -1)
    options = struct.pack(">iiiib", -1, 1000, 1, limit, 0)
    what = struct.pack(f">ih{len(name)}siiqi", 1, len(name), name, 1, partition, 0, limit)
    request = header + options + what
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = connection.makefile("rb")
        (size,) = struct.unpack(">i", answer.read(4))
        body = answer.read(size)
    # Correlation id, throttle time, one topic with its name, one partition.
    position = 4 + 4 + 4 + 2 + len(name) + 4
    _, error, _, _, aborted, records_size = struct.unpack_from(">ihqqii", body, position)
    assert error == 0, f"Fetch was answered with error {error}"
    assert aborted <= 0, "an aborted transaction where none was made"
    start = position + struct.calcsize(">ihqqii")
    return body[start : start + records_size]


def _batches(records: bytes) -> Iterator[bytes]:
    position = 0
    while position + 61 <= len(records):
        (length,) = struct.unpack_from(">i", records, position + 8)
        yield records[position : position + 12 + length]
        position += 12 + length
