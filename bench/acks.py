"""What acks=all costs against acks=1: `python bench/acks.py`.

A million messages each way to three nodes, six partitions, replication factor 3,
min.insync.replicas=2, in turns, each time to a new topic. The clock runs from the first message to
the last acknowledgement; afterwards each topic must hold every message.

.venv/bin/python bench/acks.py [--count N] [--rounds N] [--directory D] [--json F]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.real_cluster import KAFKA_DEFAULTS, real_cluster, run_bench
from harness.cluster import Cluster
from harness.errors import EnvironmentFailure

NODES = 3
PARTITIONS = 6
MESSAGE_BYTES = 100
PATIENCE_S = 600.0
ACKS = ("1", "all")


@dataclass
class Series:
    acks: str
    count: int
    seconds: list[float] = field(default_factory=list)

    @property
    def messages_per_s(self) -> float:
        return self.count / statistics.median(self.seconds)

    def row(self) -> str:
        mb_per_s = self.messages_per_s * MESSAGE_BYTES / 1e6
        each = ", ".join(f"{seconds:.2f}" for seconds in self.seconds)
        return f"acks={self.acks:<5}{self.messages_per_s:>14,.0f}{mb_per_s:>10.1f}   {each}"


class Sender:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        wanted = NewTopic(topic, PARTITIONS, NODES, config={"min.insync.replicas": "2"})
        admin.create_topics([wanted])[topic].result(PATIENCE_S)

    def send(self, topic: str, acks: str, count: int) -> float:
        """Seconds until all are acknowledged."""
        refused: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                refused.append(error)

        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "acks": acks,
                "linger.ms": 5,
                "queue.buffering.max.messages": 200_000,
                "message.timeout.ms": int(PATIENCE_S * 1000),
                "log_level": 0,
            }
        )
        producer.list_topics(topic, timeout=PATIENCE_S)  # connected before the clock runs
        value = b"x" * MESSAGE_BYTES
        begun = time.monotonic()
        for number in range(count):
            while True:
                try:
                    partition = number % PARTITIONS
                    producer.produce(topic, value, partition=partition, callback=delivered)
                    break
                except BufferError:
                    producer.poll(0.01)
            if number % 1000 == 0:
                producer.poll(0)
        left = producer.flush(PATIENCE_S)
        seconds = time.monotonic() - begun
        if left or refused:
            raise EnvironmentFailure(f"{left + len(refused)} messages were not acknowledged")
        return seconds

    def stored(self, topic: str) -> int:
        """Below the high watermarks, as consumers see it."""
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "unused", "log_level": 0}
        )
        try:
            return sum(
                consumer.get_watermark_offsets(TopicPartition(topic, index), timeout=PATIENCE_S)[1]
                for index in range(PARTITIONS)
            )
        except KafkaException as error:
            raise EnvironmentFailure(f"{topic} cannot be read: {error}") from None
        finally:
            consumer.close()


async def send_in_turns(cluster: Cluster, count: int, rounds: int) -> list[Series]:
    found = {acks: Series(acks, count) for acks in ACKS}
    sender = Sender(cluster.bootstrap())
    for number in range(rounds):
        for acks, series in found.items():
            topic = f"acks-{acks}-{number}"
            await asyncio.to_thread(sender.create, topic)
            series.seconds.append(await asyncio.to_thread(sender.send, topic, acks, count))
            await until_stored(sender, topic, count)
            print(f"round {number + 1}  acks={acks:<4} {series.seconds[-1]:.2f} s", flush=True)
    return list(found.values())


async def until_stored(sender: Sender, topic: str, count: int) -> None:
    """acks=1 is acknowledged before the followers have it; they must get there, and no further."""
    deadline = time.monotonic() + PATIENCE_S
    while (stored := await asyncio.to_thread(sender.stored, topic)) != count:
        if stored > count or time.monotonic() > deadline:
            raise EnvironmentFailure(f"{topic} holds {stored} messages, not {count}")
        await asyncio.sleep(0.1)


async def measure(chosen: argparse.Namespace) -> int:
    print(
        f"{chosen.count:,} messages of {MESSAGE_BYTES} bytes, {NODES} nodes, "
        f"{PARTITIONS} partitions, replication factor {NODES}, min.insync.replicas=2",
        flush=True,
    )
    async with real_cluster(KAFKA_DEFAULTS, count=NODES, directory=chosen.directory) as cluster:
        found = await send_in_turns(cluster, chosen.count, chosen.rounds)
    print(f"\n{'':10}{'messages/s':>14}{'MB/s':>10}   seconds of each round")
    for series in found:
        print(series.row())
    weak, strong = found
    print(f"acks=all has {strong.messages_per_s / weak.messages_per_s:.0%} of acks=1")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(series) for series in found], indent=1))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="messages each way")
    parser.add_argument("--rounds", type=int, default=3, help="of each kind")
    parser.add_argument("--directory", type=Path, help="where the nodes store; default: /tmp")
    parser.add_argument("--json", type=Path, help="write all rounds here")
    return parser.parse_args()


if __name__ == "__main__":
    run_bench(measure(arguments()))
