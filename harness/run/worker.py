"""A client worker: one process of the operating system for each client of a run.

It draws its operations itself, so nothing has to be sent for each of them, and writes down what it
does as frames (frames.py). It ends when its run does, however that ends: the pipe from it closes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from harness.client.base import Client
from harness.client.make import make_client
from harness.client.traffic import Traffic
from harness.history.op import OpType
from harness.plugins import load_plugins
from harness.run.frames import (
    NEWS,
    ROW,
    TRAFFIC,
    Begin,
    Drain,
    Idle,
    LoadOrder,
    Order,
    Probe,
    StopOrder,
    Wake,
    framed,
    read_order,
)
from harness.run.life import Life
from workloads import make_workload
from workloads.base import Load as WorkloadLoad


class Pen:
    """Writes frames. A completion waits for the next invocation or the next pause, whichever is
    first; an invocation never waits, nor does what stands before it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept: list[bytes] = []

    def row(
        self,
        time_ns: int,
        process: int,
        type_: OpType,
        f: str,
        value: Any,
        error: str | None,
        node: str | None,
        timestamps: list[Any] | None,
    ) -> None:
        row = (ROW, time_ns, process, type_, f, value, error, node, timestamps)
        self._kept.append(framed(row))
        if type_ == "invoke":
            self.flush()

    def news(self, what: str, detail: Any = None) -> None:
        self._kept.append(framed((NEWS, what, detail)))
        self.flush()

    def traffic(self, counted: Traffic) -> None:
        """Waits as completions do."""
        self._kept.append(framed((TRAFFIC, counted)))

    def flush(self) -> None:
        data = b"".join(self._kept)
        self._kept.clear()
        while data:
            data = data[os.write(self._descriptor, data) :]


class MonotonicClock:
    """The stamps of all workers are of one clock, that of the machine they share."""

    def __init__(self, before_sleep: Callable[[], None]) -> None:
        self._before_sleep = before_sleep

    def now_ns(self) -> int:
        return time.monotonic_ns()

    async def sleep_until_ns(self, moment_ns: int) -> None:
        self._before_sleep()
        left_ns = moment_ns - time.monotonic_ns()
        if left_ns > 0:
            await asyncio.sleep(left_ns / 1e9)


class Worker:
    def __init__(self, begin: Begin, pen: Pen) -> None:
        self._pen = pen
        self._orders: SimpleQueue[tuple[int, Order]] = SimpleQueue()
        self._taken = 0
        self._stopped = 0
        """Up to which order nothing is to be done any more."""
        workload = make_workload(
            begin.workload,
            WorkloadLoad(
                seed=begin.seed,
                clients=begin.clients,
                replication_factor=begin.replication_factor,
                topic_configs=begin.topic_configs,
                key_dist=begin.key_dist,
                burst=begin.burst,
                batch_bytes_max=begin.batch_bytes_max,
                transactions=begin.transactions,
                transaction_timeout_ms=begin.transaction_timeout_ms,
            ),
        )
        settings = replace(begin.settings, batching=workload.batching(begin.number))

        def client_of(process: int) -> Client:
            return make_client(begin.client, settings, f"c{begin.number + 1}-{process}")

        self.life = Life(
            begin.number,
            begin.clients,
            workload,
            client_of,
            MonotonicClock(pen.flush),
            pen.row,
            process=begin.process,
            ordinal=begin.ordinal,
            on_traffic=pen.traffic,
            on_idle=lambda is_idle: pen.news("idle", is_idle),
        )

    def take(self, order: Order) -> None:
        """A stop is for what was ordered before it, begun or not: who is late must hear it too."""
        if isinstance(order, StopOrder):
            self._stopped = self._taken
            self.life.stop()
        elif isinstance(order, Idle):
            self.life.idle(leaves=order.leaves)
        elif isinstance(order, Wake):
            self.life.wake()
        else:
            self._taken += 1
            self._orders.put((self._taken, order))

    async def run(self) -> None:
        await self.life.open()
        self._pen.news("ready")
        while True:
            number, order = self._orders.get()
            is_stopped = number <= self._stopped
            match order:
                case LoadOrder(begin_ns, end_ns, interval_ns):
                    if not is_stopped:
                        await self.life.load(begin_ns, end_ns, interval_ns)
                    self._pen.news("loaded")
                case Probe(keys, begin_ns, within_ns):
                    found = {}
                    if not is_stopped:
                        found = await self.life.probe(keys, begin_ns, within_ns)
                    self._pen.news("probed", found)
                case Drain(ends, deadline_ns):
                    left = None if is_stopped else await self.life.drain(ends, deadline_ns)
                    self._pen.news("drained", left)
                case other:
                    raise AssertionError(f"unknown order {other!r}")


def main() -> None:
    """Frames have a descriptor of their own: whatever a library prints must not get among them."""
    pen = Pen(os.dup(1))
    os.dup2(2, 1)
    begin = read_order(sys.stdin.buffer.readline())
    assert isinstance(begin, Begin), "the first order must be Begin"
    load_plugins(begin.plugins)
    worker = Worker(begin, pen)

    def listen() -> None:
        for line in sys.stdin.buffer:
            worker.take(read_order(line))
        # The run is over, or dead: nothing more is to be done, and nothing to be cleaned up.
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    try:
        asyncio.run(worker.run())
    except BaseException as error:
        pen.news("failed", f"{type(error).__name__}: {error}")
        raise


if __name__ == "__main__":
    main()
