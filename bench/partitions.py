"""What many partitions cost a cluster of three: `python bench/partitions.py [--many]`.

1,000 partitions of replication factor 3, and 10,000 with --many: how long a start takes, how long a
failover, how much memory and how many open files each node holds.

.venv/bin/python bench/partitions.py [--many] [--count N] [--directory D] [--json F]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.real_cluster import QUICK_FAILOVER, real_cluster, run_bench, timeouts
from harness.cluster import Cluster, Node
from harness.cluster.errors import NoAnswerError
from harness.cluster.waiting import wait_until

NODES = 3
# A topic of many thousands of partitions is nobody's; so many in one request are few enough.
PARTITIONS_PER_TOPIC = 250
PATIENCE_S = 600.0
ASK_TIMEOUT_S = 30.0

Partition = tuple[str, int]


@dataclass(frozen=True)
class Held:
    """What one node holds of the machine."""

    rss_mb: float
    open_files: int


@dataclass
class Figures:
    partitions: int
    seconds: dict[str, float] = field(default_factory=dict)
    held: dict[str, dict[Node, Held]] = field(default_factory=dict)

    async def clock(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        begun = time.monotonic()
        await work()
        self.note(name, time.monotonic() - begun)

    def note(self, name: str, seconds: float) -> None:
        assert name not in self.seconds
        self.seconds[name] = seconds
        print(f"{name:64}{seconds:>8.2f} s", flush=True)

    def look(self, when: str, cluster: Cluster) -> None:
        found = {}
        for node in cluster.nodes:
            process = cluster.system.process(node)
            assert process is not None
            known = psutil.Process(process.pid)
            found[node] = Held(known.memory_info().rss / 1e6, known.num_fds())
        self.held[when] = found
        shown = "  ".join(
            f"{node} {one.rss_mb:,.0f} MB, {one.open_files:,} files" for node, one in found.items()
        )
        print(f"{when:64}{shown}", flush=True)


@dataclass(frozen=True)
class Seen:
    """All partitions as one node describes them."""

    leaders: dict[Partition, int]
    isr_sizes: dict[Partition, int]

    def leads_most(self) -> int:
        return Counter(self.leaders.values()).most_common(1)[0][0]


class Topics:
    def __init__(self, cluster: Cluster, count: int) -> None:
        self._cluster = cluster
        sizes = [PARTITIONS_PER_TOPIC] * (count // PARTITIONS_PER_TOPIC)
        sizes += [count % PARTITIONS_PER_TOPIC] if count % PARTITIONS_PER_TOPIC else []
        self._sizes = {f"many-{number}": size for number, size in enumerate(sizes)}
        self.all: list[Partition] = [
            (name, index) for name, size in self._sizes.items() for index in range(size)
        ]

    async def create(self) -> None:
        def in_thread() -> None:
            admin = AdminClient({"bootstrap.servers": self._cluster.bootstrap(), "log_level": 0})
            config = {"min.insync.replicas": "2"}
            for name, size in self._sizes.items():
                wanted = NewTopic(name, size, NODES, config=config)
                admin.create_topics([wanted], request_timeout=60)[name].result(PATIENCE_S)

        await asyncio.to_thread(in_thread)

    async def see(self, node: Node) -> Seen:
        def in_thread() -> Seen:
            client = Consumer(
                {
                    "bootstrap.servers": self._cluster.bootstrap(node),
                    "group.id": "unused",
                    "log_level": 0,
                }
            )
            try:
                answer = client.list_topics(timeout=ASK_TIMEOUT_S)
            except KafkaException as error:
                raise NoAnswerError(f"{node} did not answer: {error}") from None
            finally:
                client.close()
            found = {
                (name, one.id): one
                for name, topic in answer.topics.items()
                for one in topic.partitions.values()
            }
            return Seen(
                {key: one.leader for key, one in found.items()},
                {key: len(one.isrs) for key, one in found.items()},
            )

        return await asyncio.to_thread(in_thread)

    async def until_whole(self) -> None:
        """Every node knows a leader and a full ISR of every partition."""

        async def is_whole() -> bool:
            for node in self._cluster.nodes:
                seen = await self.see(node)
                if not all(seen.leaders.get(one, -1) >= 0 for one in self.all):
                    return False
                if not all(seen.isr_sizes.get(one) == NODES for one in self.all):
                    return False
            return True

        await wait_until(is_whole, within_s=PATIENCE_S, what="every ISR is full")

    async def until_led_without(self, dead: int, asking: Node) -> None:
        async def is_led() -> bool:
            leaders = (await self.see(asking)).leaders
            return all(leaders.get(one, -1) not in (-1, dead) for one in self.all)

        await wait_until(is_led, within_s=PATIENCE_S, what="every partition has a living leader")

    async def write_to_each(self) -> None:
        """Returns when each partition has acknowledged a record."""

        def in_thread() -> None:
            acknowledged: set[Partition] = set()

            def delivered(error: KafkaError | None, message: Message) -> None:
                if error is not None:
                    raise KafkaException(error)
                name, index = message.topic(), message.partition()
                assert name is not None
                assert index is not None
                acknowledged.add((name, index))

            producer = Producer(
                {
                    "bootstrap.servers": self._cluster.bootstrap(),
                    "acks": "all",
                    "enable.idempotence": True,
                    "message.timeout.ms": int(PATIENCE_S * 1000),
                    "log_level": 0,
                }
            )
            for name, index in self.all:
                producer.produce(name, b"x" * 100, partition=index, on_delivery=delivered)
            while len(acknowledged) < len(self.all):
                producer.poll(0.05)

        await asyncio.to_thread(in_thread)


async def fail_over(cluster: Cluster, topics: Topics, found: Figures) -> None:
    assert cluster.process is not None
    process = cluster.process
    most = (await topics.see(cluster.nodes[0])).leads_most()
    victim = cluster.nodes[most - 1]
    survivor = next(node for node in cluster.nodes if node != victim)

    async def kill_and_move() -> None:
        await process.kill(victim)
        await topics.until_led_without(most, survivor)

    await found.clock("node killed -> every partition has a living leader", kill_and_move)
    await found.clock("... then a write acknowledged by each partition", topics.write_to_each)
    await found.clock("its restart, to ready", lambda: process.start(victim))
    await found.clock("... then every ISR full", topics.until_whole)


async def restart(cluster: Cluster, topics: Topics, found: Figures) -> None:
    assert cluster.process is not None
    process = cluster.process

    async def stop_all() -> None:
        for node in cluster.nodes:
            await process.kill(node) if node == cluster.nodes[-1] else await process.stop(node)

    await found.clock("two nodes stopped cleanly one by one, the last one killed", stop_all)
    await found.clock("start of all three, to ready", cluster.start)
    await found.clock("... then every partition led, every ISR full", topics.until_whole)


async def measure(chosen: argparse.Namespace) -> int:
    count = chosen.count or (10_000 if chosen.many else 1_000)
    found = Figures(count)
    print(f"{count:,} partitions on {NODES} nodes, replication factor {NODES}")
    print(f"brokers: {timeouts(QUICK_FAILOVER)}", flush=True)
    begun = time.monotonic()
    async with real_cluster(QUICK_FAILOVER, count=NODES, directory=chosen.directory) as cluster:
        found.note("start of an empty cluster, formatting included", time.monotonic() - begun)
        found.look("empty", cluster)
        topics = Topics(cluster, count)
        await found.clock("all topics created", topics.create)
        await found.clock("... then every new partition led, every ISR full", topics.until_whole)
        await found.clock("a write acknowledged by each partition", topics.write_to_each)
        found.look("with all partitions", cluster)
        await fail_over(cluster, topics, found)
        await restart(cluster, topics, found)
        found.look("after the restart", cluster)
    if chosen.json:
        held = {
            when: {node: vars(one) for node, one in nodes.items()}
            for when, nodes in found.held.items()
        }
        whole = {"partitions": count, "seconds": found.seconds, "held": held}
        chosen.json.write_text(json.dumps(whole, indent=1))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", action="store_true", help="10,000 partitions")
    parser.add_argument("--count", type=int, help="so many partitions")
    parser.add_argument("--directory", type=Path, help="where the nodes store; default: /tmp")
    parser.add_argument("--json", type=Path, help="write all figures here")
    return parser.parse_args()


if __name__ == "__main__":
    run_bench(measure(arguments()))
