"""How long a cluster of three is gone for its clients when a node dies: `python bench/failover.py`.

A leader is killed, and the clock runs from the SIGKILL to the first write that is acknowledged
after it; a controller is killed, and it runs to the creation of a topic. Replication factor 3,
acks=all, min.insync.replicas=2. Between rounds the dead node is started and the ISR is full again.

librdkafka looks for new leaders once a second, so two producers write at once: one that is left to
itself, and one that is made to look twenty times a second, for what the cluster takes.

.venv/bin/python bench/failover.py [--defaults] [--rounds N] [--directory D] [--json F]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.real_cluster import (
    KAFKA_DEFAULTS,
    QUICK_FAILOVER,
    real_cluster,
    run_bench,
    timeouts,
)
from harness.cluster import Cluster, Node
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure

BAR_P90_S = 3.0
NODES = 3
PARTITIONS = 6
TOPIC = "failover"
PATIENCE_S = 60.0
LOOK_EVERY_S = 0.05
# A client that is quick to try again.
CLIENT = {
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 100,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.fast.interval.ms": 50,
}


@dataclass
class Series:
    """One kind of fault, round after round."""

    name: str
    seconds: list[float] = field(default_factory=list)

    def share(self, part: float) -> float:
        """The smallest time that so large a part of the rounds did not exceed."""
        return sorted(self.seconds)[math.ceil(part * len(self.seconds)) - 1]

    def row(self, bar_s: float | None) -> str:
        p90 = self.share(0.9)
        verdict = ""
        if bar_s is not None:
            verdict = f"  p90 < {bar_s:g} s: {'met' if p90 < bar_s else 'MISSED'}"
        return (
            f"{self.name:58}{len(self.seconds):>7}{self.share(0.5):>8.2f}{p90:>8.2f}"
            f"{max(self.seconds):>8.2f}{verdict}"
        )


class Writer:
    """One producer for all rounds, as an application would have."""

    def __init__(self, bootstrap: str, *, keeps_looking: bool) -> None:
        """`keeps_looking` for the leader, while it waits."""
        self._keeps_looking = keeps_looking
        self._producer = Producer(
            {
                **CLIENT,
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": int(PATIENCE_S * 1000),
                "log_level": 0,
            }
        )
        self._count = 0

    def acknowledged(self, partition: int) -> float:
        """Writes one record and returns the moment of its acknowledgement."""
        moments: list[float] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                raise KafkaException(error)
            moments.append(time.monotonic())

        self._count += 1
        value = b"record %d" % self._count
        self._producer.produce(TOPIC, value, partition=partition, on_delivery=delivered)
        looked = time.monotonic()
        while not moments:
            self._producer.poll(0.01)
            if self._keeps_looking and time.monotonic() > looked + LOOK_EVERY_S:
                with suppress(KafkaException):
                    self._producer.list_topics(TOPIC, timeout=LOOK_EVERY_S)
                looked = time.monotonic()
        return moments[0]


class Creator:
    """Tries again until there is an answer, with a client of its own for each attempt.

    librdkafka asks nobody else once the broker is gone to which it takes its changes.
    """

    def __init__(self, bootstrap: str) -> None:
        self._config: dict[str, str | int | float | bool] = {
            **CLIENT,
            "bootstrap.servers": bootstrap,
            "log_level": 0,
        }

    def created(self, name: str, partitions: int, replicas: int, **config: str) -> float:
        """Creates a topic and returns the moment at which that was confirmed."""
        deadline = time.monotonic() + PATIENCE_S
        wanted = NewTopic(
            name,
            partitions,
            replicas,
            config={key.replace("_", "."): config[key] for key in config},
        )
        while True:
            try:
                admin = AdminClient(self._config)
                admin.create_topics([wanted], request_timeout=1.0)[name].result(PATIENCE_S)
            except KafkaException as error:
                told = error.args[0].code()
                # An earlier attempt went through, and its answer was lost with the controller.
                if told == KafkaError.TOPIC_ALREADY_EXISTS:
                    return time.monotonic()
                if time.monotonic() > deadline:
                    raise EnvironmentFailure(f"{name} could not be created: {error}") from None
                time.sleep(0.01)
            else:
                return time.monotonic()


class Rounds:
    def __init__(self, cluster: Cluster) -> None:
        assert cluster.process is not None
        self._cluster = cluster
        self._process = cluster.process
        self._writers = [
            Writer(cluster.bootstrap(), keeps_looking=keeps_looking)
            for keeps_looking in (True, False)
        ]
        self._creator = Creator(cluster.bootstrap())

    async def prepare(self) -> None:
        config = {"min_insync_replicas": "2"}
        await asyncio.to_thread(self._creator.created, TOPIC, PARTITIONS, NODES, **config)
        await self._whole_again()

    async def kill_leader(self, number: int) -> tuple[Node, list[float]]:
        partition = number % PARTITIONS
        await self._write(partition)
        leader = await self._cluster.leader(TOPIC, partition)
        assert leader is not None
        killed = time.monotonic()
        await self._process.kill(leader)
        acknowledged = await self._write(partition)
        await self._restart(leader)
        return leader, [moment - killed for moment in acknowledged]

    async def _write(self, partition: int) -> list[float]:
        """By all writers at once."""
        return await asyncio.gather(
            *(asyncio.to_thread(writer.acknowledged, partition) for writer in self._writers)
        )

    async def kill_controller(self, number: int) -> tuple[Node, list[float]]:
        controller = await self._cluster.controller()
        if controller is None:
            raise EnvironmentFailure("no node knows of a controller, though all are up")
        killed = time.monotonic()
        await self._process.kill(controller)
        created = await asyncio.to_thread(self._creator.created, f"made-{number}", 1, NODES - 1)
        await self._restart(controller)
        return controller, [created - killed]

    async def _restart(self, node: Node) -> None:
        await self._process.start(node)
        await self._whole_again()

    async def _whole_again(self) -> None:
        async def is_whole() -> bool:
            found = await self._cluster.partitions(TOPIC)
            everywhere = all(len(one.isr) == NODES and one.leader is not None for one in found)
            return everywhere and await self._cluster.controller() is not None

        await wait_until(is_whole, within_s=PATIENCE_S, what="every ISR is full again")


def report(found: Sequence[Series], bar_s: float | None) -> int:
    """Prints the table; 1 if a bar was missed."""
    print(f"\n{'seconds':58}{'rounds':>7}{'p50':>8}{'p90':>8}{'max':>8}")
    for series in found:
        print(series.row(bar_s))
    return int(bar_s is not None and any(series.share(0.9) >= bar_s for series in found))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--defaults", action="store_true", help="Kafka's own time-outs, no bar")
    parser.add_argument("--rounds", type=int, default=20, help="of each kind")
    parser.add_argument("--directory", type=Path, help="where the nodes store; default: /tmp")
    parser.add_argument("--json", type=Path, help="write all rounds here")
    return parser.parse_args()


async def measure(chosen: argparse.Namespace) -> int:
    settings = KAFKA_DEFAULTS if chosen.defaults else QUICK_FAILOVER
    print(f"nodes:   {NODES}, replication factor {NODES}, acks=all, min.insync.replicas=2")
    print(f"brokers: {timeouts(settings)}")
    print(f"client:  {' '.join(f'{name}={value}' for name, value in CLIENT.items())}", flush=True)
    write = "leader killed -> first acknowledged write"
    writes = [Series(write), Series(f"{write}, left to itself")]
    topics = [Series("controller killed -> topic created")]
    async with real_cluster(settings, count=NODES, directory=chosen.directory) as cluster:
        rounds = Rounds(cluster)
        await rounds.prepare()
        for kinds, strike in ((writes, rounds.kill_leader), (topics, rounds.kill_controller)):
            for number in range(chosen.rounds):
                node, seconds = await strike(number)
                for series, each in zip(kinds, seconds, strict=True):
                    series.seconds.append(each)
                shown = "  ".join(f"{each:.2f} s" for each in seconds)
                print(f"{kinds[0].name} {number + 1:>3}  {node}  {shown}", flush=True)
    found = [*writes, *topics]
    if chosen.json:
        whole = {"brokers": timeouts(settings), "series": [asdict(one) for one in found]}
        chosen.json.write_text(json.dumps(whole, indent=1))
    return report(found, None if chosen.defaults else BAR_P90_S)


if __name__ == "__main__":
    run_bench(measure(arguments()))
