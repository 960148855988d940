"""What is put under load, each behind the same few names."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import confluent_kafka

from bench.apache_kafka import KAFKA_VERSION, ApacheKafka, free_port, java_version
from bench.systems.server_process import ROOT, ServerProcess

# The same for both brokers. Deleted files go at once, or the rounds would fill the disk.
SETTINGS: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "log.segment.delete.delay.ms": "100",
    "num.partitions": "4",
}


class System(Protocol):
    name: str
    bootstrap: str
    version: str
    replication_factor: int

    @property
    def pids(self) -> Sequence[int]: ...

    @property
    def logs(self) -> Sequence[Path]:
        """Where its segment files are, if it has any."""
        ...

    def stop(self) -> None: ...


@dataclass
class OurBroker:
    home: Path
    cpus: frozenset[int]
    name: str = "ours"
    replication_factor: int = 1
    version: str = f"this tree, Python {platform.python_version()}"
    own_settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.logs = (self.home / "logs",)
        config = self.home / "server.properties"
        settings = {
            "node.id": "1",
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "log.dirs": str(self.logs[0]),
            **SETTINGS,
            **self.own_settings,
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        command = str(Path(sys.executable).with_name("broker"))
        formatting = [command, "format", "--config", str(config)]
        subprocess.run(formatting, check=True, timeout=30, capture_output=True)
        self._process = ServerProcess([command, "start", "--config", str(config)], self.cpus)
        self.bootstrap = self._process.wait_until_ready()

    @property
    def pids(self) -> Sequence[int]:
        return (self._process.pid,)

    def stop(self) -> None:
        self._process.stop()


@dataclass
class Apache:
    home: Path
    cpus: frozenset[int]
    name: str = "Apache Kafka"
    replication_factor: int = 1
    version: str = ""
    own_settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._node = ApacheKafka(self.home, {**SETTINGS, **self.own_settings}, self.cpus)
        self._node.start()
        self.logs = (self.home / "logs",)
        self.bootstrap = self._node.bootstrap
        self.version = f"{KAFKA_VERSION}, {java_version()}, {self._node.heap} heap, G1"

    @property
    def pids(self) -> Sequence[int]:
        return (self._node.pid,)

    def stop(self) -> None:
        self._node.stop()


class Stand:
    """A server of our own that stands for a bound: it does one thing and stores nothing."""

    logs: Sequence[Path] = ()
    replication_factor = 1

    def __init__(self, name: str, module: str, cpus: frozenset[int], *arguments: str) -> None:
        self.name = name
        self.version = f"Python {platform.python_version()}"
        command = [sys.executable, "-m", module, *arguments]
        self._process = ServerProcess(command, cpus)
        self.bootstrap = self._process.wait_until_ready()

    @property
    def pids(self) -> Sequence[int]:
        return (self._process.pid,)

    def stop(self) -> None:
        self._process.stop()


def mock_cluster(cpus: frozenset[int]) -> System:
    stand = Stand("librdkafka mock", "bench.systems.mock_cluster", cpus)
    stand.version = f"librdkafka {confluent_kafka.libversion()[0]}"
    return stand


def bare_sink(cpus: frozenset[int]) -> System:
    return Stand("ceiling", "bench.systems.bare_sink", cpus)


def bare_sendfile(home: Path, cpus: frozenset[int], records: bytes) -> System:
    """`records` are what one partition of the prepared response holds."""
    prepared = home / "prepared-records"
    prepared.write_bytes(records)
    return Stand("ceiling", "bench.systems.bare_sendfile", cpus, str(prepared))


__all__ = [
    "ROOT",
    "SETTINGS",
    "Apache",
    "OurBroker",
    "System",
    "bare_sendfile",
    "bare_sink",
    "mock_cluster",
]
