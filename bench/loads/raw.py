"""Loads carried by bare sockets and prepared frames, so that the client is not the limit."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable

from bench.loads.frames import (
    batch,
    fetch_request,
    fetched,
    produce_error,
    produce_request,
    whole_batches,
)
from bench.loads.messages import VALUE_BYTES, values
from bench.loads.worker import Carried, Options

# What Java and librdkafka allow by default where order matters.
IN_FLIGHT = 5


def connect(bootstrap: str) -> socket.socket:
    host, _, port = bootstrap.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Answers:
    """Reads whole response frames into one buffer that is used again and again."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray(64 * 1024)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._filled = 0

    def next(self) -> memoryview:
        """The next response without its length; good until the next call."""
        self._need(4)
        (size,) = struct.unpack_from(">i", self._view, self._start)
        self._need(4 + size)
        answer = self._view[self._start + 4 : self._start + 4 + size]
        self._start += 4 + size
        if self._start == self._filled:
            self._start = self._filled = 0
        return answer

    def _need(self, count: int) -> None:
        if self._start + count > len(self._view):
            self._make_room(count)
        while self._filled - self._start < count:
            got = self._socket.recv_into(self._view[self._filled :])
            if got == 0:
                raise ConnectionError("the server closed the connection")
            self._filled += got

    def _make_room(self, count: int) -> None:
        rest = self._filled - self._start
        target = self._view
        if count > len(self._view):
            self._buffer = bytearray(count + 64 * 1024)
            target = memoryview(self._buffer)
        target[:rest] = self._view[self._start : self._filled]
        self._view = target
        self._start, self._filled = 0, rest


def _acknowledged(answers: Answers) -> None:
    error = produce_error(b"\0\0\0\0" + bytes(answers.next()))
    if error:
        raise RuntimeError(f"Produce was answered with error {error}")


def produce(options: Options) -> Callable[[], Carried]:
    """Prepared batches, five requests in flight, for `seconds` or until `messages` are sent."""
    count = options["records_per_batch"]
    records = batch(values(count), options.get("codec", "none"))
    frames = [
        produce_request(options["topic"], partition, records)
        for partition in range(options["partitions"])
    ]
    connection = connect(options["bootstrap"])
    answers = Answers(connection)

    def carry() -> Carried:
        end = time.perf_counter() + options.get("seconds", 600)
        batches_max = options.get("messages", 1 << 60) // count
        sent = received = 0
        while sent < batches_max and time.perf_counter() < end:
            connection.sendall(frames[sent % len(frames)])
            sent += 1
            if sent - received >= IN_FLIGHT:
                _acknowledged(answers)
                received += 1
        for _ in range(sent - received):
            _acknowledged(answers)
        return Carried(sent * count, sent * count * VALUE_BYTES)

    return carry


def synchronous(options: Options) -> Callable[[], Carried]:
    """One record, one request, one answer; then the next."""
    frame = produce_request(options["topic"], 0, batch(values(1)))
    connection = connect(options["bootstrap"])
    answers = Answers(connection)

    def once() -> float:
        before = time.perf_counter()
        connection.sendall(frame)
        _acknowledged(answers)
        return (time.perf_counter() - before) * 1e6

    for _ in range(200):
        once()

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        found = Carried()
        while time.perf_counter() < end:
            found.latencies_us.append(once())
        found.messages = len(found.latencies_us)
        found.bytes = found.messages * VALUE_BYTES
        return found

    return carry


class PartitionReader:
    """Fetches one partition over a connection of its own, looking at batch headers only.

    Several readers take turns, so that the server always has something to send.
    """

    def __init__(self, options: Options, partition: int, *, again: bool, bytes_max: int) -> None:
        self._connection = connect(options["bootstrap"])
        self._answers = Answers(self._connection)
        self._topic = options["topic"]
        self._partition = partition
        self._again = again
        self._bytes_max = bytes_max
        self._offset = 0
        self._ask()

    def _ask(self) -> None:
        asked = {self._partition: self._offset}
        request = fetch_request(self._topic, asked, max_wait_ms=100, bytes_max=self._bytes_max)
        self._connection.sendall(request)

    def fetch(self) -> tuple[int, int]:
        """Records and bytes that the next answer brought."""
        first = self._offset
        size = 0
        for _, part in fetched(self._answers.next()):
            size = len(part)
            for _, _, next_offset in whole_batches(part):
                self._offset = next_offset
        records = self._offset - first
        if records == 0 and self._again:
            # An empty answer means the end: begin again.
            self._offset = 0
        self._ask()
        return records, size


def _readers(options: Options, *, again: bool, bytes_max: int) -> list[PartitionReader]:
    return [
        PartitionReader(options, partition, again=again, bytes_max=bytes_max)
        for partition in range(options["partitions"])
    ]


def consume(options: Options) -> Callable[[], Carried]:
    readers = _readers(options, again=True, bytes_max=1024 * 1024)

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        found = Carried()
        while time.perf_counter() < end:
            for reader in readers:
                records, size = reader.fetch()
                found.messages += records
                found.bytes += size
        return found

    return carry


def scan(options: Options) -> Callable[[], Carried]:
    """Reads cold data once, from its beginning, as a reader that catches up does."""
    os.nice(10)
    readers = _readers(options, again=False, bytes_max=4 * 1024 * 1024)

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        found = Carried()
        is_done = False
        while time.perf_counter() < end and not is_done:
            brought = [reader.fetch() for reader in readers]
            found.messages += sum(records for records, _ in brought)
            found.bytes += sum(size for _, size in brought)
            is_done = not any(records for records, _ in brought)
        return found

    return carry
