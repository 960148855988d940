"""One node of Apache Kafka and one of our broker, from the same server.properties."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.apache_kafka import ApacheKafka, KafkaJvm, drawn_cluster_id, free_port
from bench.systems.clusters import ClusterNode, OurNode

KAFKA = "kafka"
OURS = "ours"

PROPERTIES: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "num.partitions": "2",
    # A new group would otherwise wait three seconds for more members.
    "group.initial.rebalance.delay.ms": "0",
    # By default assignments of the new protocol are a second apart (KIP-1263).
    "group.consumer.assignment.interval.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.max.size": "3",
    "group.consumer.max.size": "3",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    # By default transactions that are open for too long are looked for every ten seconds.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "log.segment.delete.delay.ms": "100",
}
"""Settings of both nodes."""


@dataclass(frozen=True)
class System:
    name: str
    address: str


@contextmanager
def running_systems(names: Sequence[str] = (KAFKA, OURS)) -> Iterator[list[System]]:
    """The nodes named, ready for requests. Their data is removed at the end."""
    with ExitStack() as cleanup:
        home = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="differential-")))
        systems, nodes = [], []
        for name in names:
            node, address = _node(name, home / name)
            cleanup.callback(node.stop)
            node.launch()
            nodes.append(node)
            systems.append(System(name, address))
        for node in nodes:
            node.wait_until_ready()
        yield systems


def _node(name: str, home: Path) -> tuple[ClusterNode, str]:
    port = free_port()
    settings = ApacheKafka(home, PROPERTIES).settings(port, free_port())
    properties = "".join(f"{key}={value}\n" for key, value in settings.items())
    address, cluster_id = f"127.0.0.1:{port}", drawn_cluster_id()
    cpus = frozenset(os.sched_getaffinity(0))
    if name == KAFKA:
        return KafkaJvm(home, properties, address, cluster_id, cpus, heap="512m"), address
    return OurNode(home, properties, cluster_id, cpus), address
