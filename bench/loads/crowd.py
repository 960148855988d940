"""Loads for the ramp: many connections at once, and a rate that does not wait for answers."""

from __future__ import annotations

import resource
import selectors
import time
from collections.abc import Callable

from bench.loads.frames import batch, produce_error, produce_request
from bench.loads.messages import VALUE_BYTES, values
from bench.loads.raw import Answers, connect
from bench.loads.worker import Carried, Options

_OPEN_LOOP_CONNECTIONS = 20


def _frames(options: Options) -> list[bytes]:
    records = batch(values(1))
    return [
        produce_request(options["topic"], partition, records)
        for partition in range(options["partitions"])
    ]


class _Sender:
    """One connection with at most one request on its way."""

    def __init__(self, bootstrap: str, frame: bytes) -> None:
        self._frame = frame
        self.socket = connect(bootstrap)
        self._answers = Answers(self.socket)
        self._sent_at = 0.0

    def send(self, since: float) -> None:
        self._sent_at = since
        self.socket.sendall(self._frame)

    def receive(self) -> float:
        """Microseconds since the message was due."""
        error = produce_error(b"\0\0\0\0" + bytes(self._answers.next()))
        if error:
            raise RuntimeError(f"Produce was answered with error {error}")
        return (time.perf_counter() - self._sent_at) * 1e6


def _senders(options: Options, count: int) -> tuple[list[_Sender], selectors.BaseSelector]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    frames = _frames(options)
    selector = selectors.DefaultSelector()
    senders = []
    for number in range(count):
        sender = _Sender(options["bootstrap"], frames[number % len(frames)])
        selector.register(sender.socket, selectors.EVENT_READ, sender)
        senders.append(sender)
    return senders, selector


def crowd(options: Options) -> Callable[[], Carried]:
    """Every connection sends its next message as soon as its last is acknowledged."""
    senders, selector = _senders(options, options["connections"])

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        found = Carried()
        for sender in senders:
            sender.send(time.perf_counter())
        waiting = len(senders)
        while waiting:
            ready = selector.select(timeout=30)
            if not ready:
                raise RuntimeError(f"{waiting} connections got no answer in 30 s")
            for key, _ in ready:
                found.latencies_us.append(key.data.receive())
                now = time.perf_counter()
                if now < end:
                    key.data.send(now)
                else:
                    waiting -= 1
        found.messages = len(found.latencies_us)
        found.bytes = found.messages * VALUE_BYTES
        return found

    return carry


def open_loop(options: Options) -> Callable[[], Carried]:
    """Messages fall due at a steady rate; one that must wait for a connection has waited."""
    idle, selector = _senders(options, _OPEN_LOOP_CONNECTIONS)

    def carry() -> Carried:
        gap_s = 1 / options["rate"]
        start = time.perf_counter()
        due, found = start, Carried()
        while True:
            now = time.perf_counter()
            if now > start + options["seconds"]:
                break
            while idle and due <= now:
                idle.pop().send(due)
                due += gap_s
            wait_s = max(0.0, due - now) if idle else 1.0
            for key, _ in selector.select(timeout=wait_s):
                found.latencies_us.append(key.data.receive())
                idle.append(key.data)
        found.messages = len(found.latencies_us)
        found.bytes = found.messages * VALUE_BYTES
        return found

    return carry
