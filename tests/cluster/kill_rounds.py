"""kill -9 at random moments, under producers that want every record stored once and in order."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from harness.cluster import Cluster, Node
from harness.cluster.capabilities import Processes
from harness.cluster.errors import NodeFailedError
from tests.cluster.confluent import Position, position

TOPIC = "kept"
PRODUCERS = 3
PAUSE_S = 0.002
"""Between two records of a producer: some five hundred a second, in small batches."""
FLUSH_S = 120.0


class Writer:
    """An idempotent producer with acks=all. Its records are numbered, and spread evenly."""

    def __init__(self, bootstrap: str, name: str, partitions: int) -> None:
        self.stored: dict[bytes, Position] = {}
        self.unknown = 0
        self.sent = 0
        self._name = name
        self._partitions = partitions
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": int(FLUSH_S * 1000),
                "retry.backoff.ms": 20,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        while not self._stop.is_set():
            self._send()
            self._producer.poll(0)
            time.sleep(PAUSE_S)
        assert self._producer.flush(FLUSH_S) == 0

    def _send(self) -> None:
        value = b"%s %d" % (self._name.encode(), self.sent)
        with suppress(BufferError):
            where = self.sent % self._partitions
            self._producer.produce(TOPIC, value, partition=where, on_delivery=self._delivered)
            self.sent += 1

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.stored[message.value() or b""] = position(message)
        else:
            self.unknown += 1

    def stop(self) -> None:
        self._stop.set()


class Watcher:
    """Reads all the while. What it has once seen must stay where it was."""

    def __init__(self, bootstrap: str, partitions: int) -> None:
        self.seen: dict[Position, bytes] = {}
        self.changed: list[str] = []
        self._partitions = partitions
        self._stop = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )

    def run(self) -> None:
        everything = [TopicPartition(TOPIC, index, 0) for index in range(self._partitions)]
        self._consumer.assign(everything)
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            if (error := message.error()) is not None:
                # What it was shown is gone: the log ends before the place that it has reached.
                if error.code() == KafkaError._AUTO_OFFSET_RESET:
                    self.changed.append(str(error))
                continue
            self.seen[position(message)] = message.value() or b""
        self._consumer.close()

    def stop(self) -> None:
        self._stop.set()


@dataclass
class Killer:
    """Draws whom to kill, when, and for how long."""

    cluster: Cluster
    process: Processes
    random: Random
    at_once: int
    """So many nodes at most, all of which are back before the next round."""
    counts: Counter[str] = field(default_factory=Counter)

    async def round(self) -> None:
        random = self.random
        await asyncio.sleep(random.uniform(0.0, 1.0))
        victims = random.sample(self.cluster.nodes, k=random.randint(1, self.at_once))
        self.counts["rounds"] += 1
        self.counts["two at once"] += len(victims) > 1
        for victim in victims:
            await self.process.kill(victim)
            self.counts["kills"] += 1
            await asyncio.sleep(random.uniform(0.0, 0.2))
        await asyncio.sleep(random.uniform(0.0, 1.5))
        if random.random() < 0.2:
            await self._kill_while_it_starts(victims[0])
        await asyncio.gather(*(self.process.start(victim) for victim in victims))

    async def _kill_while_it_starts(self, node: Node) -> None:
        starting = asyncio.create_task(self.process.start(node))
        await asyncio.sleep(self.random.uniform(0.2, 1.0))
        await self.process.kill(node)
        with suppress(NodeFailedError):
            await starting
        self.counts["kills while starting"] += 1


def problems(
    writers: list[Writer], watcher: Watcher, found: list[tuple[Position, bytes]]
) -> list[str]:
    """What is lost, doubled, out of order or changed. `found` is in the order of the logs."""
    told = list(watcher.changed)
    at = dict(found)
    told += [
        f"{value!r} was seen at {where}, where {at.get(where)!r} is now"
        for where, value in watcher.seen.items()
        if at.get(where) != value
    ]
    times = Counter(value for _, value in found)
    told += [f"{value!r} is there {count} times" for value, count in times.items() if count > 1]
    for writer in writers:
        told += [
            f"{value!r} was acknowledged at {where}, where {at.get(where)!r} is"
            for value, where in writer.stored.items()
            if at.get(where) != value
        ]
    last: dict[tuple[int, bytes], int] = {}
    for (partition, offset), value in found:
        name, number = value.rsplit(b" ", 1)
        if int(number) <= last.get((partition, name), -1):
            told.append(f"{value!r} at {partition}, {offset} comes after a later one")
        last[partition, name] = int(number)
    return told
