"""Several nodes as one system, of our broker or of Apache Kafka, from the same server.properties.

Every node is broker and controller at once. All of them share the CPUs that a single server has.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from bench.apache_kafka import KAFKA_VERSION, KafkaJvm, drawn_cluster_id, free_port, java_version
from bench.systems import SETTINGS, System
from bench.systems.server_process import ServerProcess
from harness.cluster.server_properties import Member, Settings, server_properties

REPLICAS_MAX = 3
HEAP = "512m"


class ClusterNode(Protocol):
    @property
    def pid(self) -> int: ...

    def launch(self) -> None:
        """Formats and starts it, and does not wait: it takes a majority to get ready."""
        ...

    def wait_until_ready(self) -> None: ...

    def stop(self) -> None:
        """Also before it was launched."""
        ...


class OurNode:
    def __init__(self, home: Path, properties: str, cluster_id: str, cpus: frozenset[int]) -> None:
        self._home = home
        self._properties = properties
        self._cluster_id = cluster_id
        self._cpus = cpus
        self._process: ServerProcess | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    def launch(self) -> None:
        self._home.mkdir(parents=True)
        config = self._home / "server.properties"
        config.write_text(self._properties)
        broker = str(Path(sys.executable).with_name("broker"))
        formatting = [broker, "format", "--config", str(config), f"--cluster-id={self._cluster_id}"]
        subprocess.run(formatting, check=True, timeout=30, capture_output=True)
        self._process = ServerProcess([broker, "start", "--config", str(config)], self._cpus)

    def wait_until_ready(self) -> None:
        self._running().wait_until_ready()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    def _running(self) -> ServerProcess:
        assert self._process is not None, "not launched"
        return self._process


class ClusterSystem:
    def __init__(
        self, name: str, version: str, members: Sequence[Member], nodes: Sequence[ClusterNode]
    ) -> None:
        self.name = name
        self.version = version
        self.replication_factor = min(REPLICAS_MAX, len(members))
        self.bootstrap = ",".join(member.client_address for member in members)
        self.logs = [Path(logs) for member in members for logs in member.log_dirs]
        self._nodes = nodes
        try:
            for node in nodes:
                node.launch()
            for node in nodes:
                node.wait_until_ready()
        except BaseException:
            self.stop()
            raise

    @property
    def pids(self) -> Sequence[int]:
        return [node.pid for node in self._nodes]

    def stop(self) -> None:
        for node in self._nodes:
            node.stop()


def our_cluster(name: str, home: Path, cpus: frozenset[int], count: int) -> System:
    def node(home: Path, member: Member, properties: str, cluster_id: str) -> ClusterNode:
        return OurNode(home, properties, cluster_id, cpus)

    version = f"this tree, Python {platform.python_version()}, processes: {count}"
    return _cluster(name, version, home, count, node)


def apache_cluster(name: str, home: Path, cpus: frozenset[int], count: int) -> System:
    def node(home: Path, member: Member, properties: str, cluster_id: str) -> ClusterNode:
        return KafkaJvm(home, properties, member.client_address, cluster_id, cpus, HEAP)

    version = f"{KAFKA_VERSION}, {java_version()}, JVMs: {count}, {HEAP} heap each, G1"
    return _cluster(name, version, home, count, node)


def _cluster(
    name: str,
    version: str,
    home: Path,
    count: int,
    new_node: Callable[[Path, Member, str, str], ClusterNode],
) -> System:
    members = [
        Member(
            node_id=number,
            address="127.0.0.1",
            client_port=free_port(),
            controller_port=free_port(),
            log_dirs=(PurePosixPath(home / str(number) / "logs"),),
        )
        for number in range(1, count + 1)
    ]
    settings, cluster_id = Settings(properties=SETTINGS), drawn_cluster_id()
    nodes = [
        new_node(
            home / str(member.node_id),
            member,
            server_properties(member, members, settings),
            cluster_id,
        )
        for member in members
    ]
    return ClusterSystem(name, version, members, nodes)
