"""Fetches Apache Kafka by Maven and runs nodes of it, as the oracle and the rival.

The jars stay in the user's cache directory, never in the repository. Nothing is downloaded when
they are already there.
"""

from __future__ import annotations

import base64
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

KAFKA_VERSION = "4.3.1"
# The log classes of Kafka find no binding among its own dependencies, so one is named here.
ARTIFACTS = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
# What Kafka's own start script passes, but for the heap.
JVM_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
QUIET_LOG = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",)


class KafkaUnavailableError(Exception):
    """Apache Kafka cannot be fetched or started here; the message says what to install."""


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "log-trial" / f"apache-kafka-{KAFKA_VERSION}"


def _require(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise KafkaUnavailableError(
            f"{program} is not installed: Apache Kafka needs it; try: apt-get install {package}"
        )
    return found


def java() -> str:
    return _require("java", "default-jdk-headless")


def _pom() -> str:
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>"
        "<version>{}</version></dependency>\n".format(*artifact.split(":"))
        for artifact in ARTIFACTS
    )
    return (
        "<project>\n"
        "<modelVersion>4.0.0</modelVersion>\n"
        "<groupId>log-trial</groupId><artifactId>apache-kafka-jars</artifactId>\n"
        "<version>1</version><packaging>pom</packaging>\n"
        f"<dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )


def fetch_jars(timeout_s: float = 600) -> Path:
    """The directory that holds every jar of the broker and its tools; safe to call in parallel."""
    java()
    home = cache_directory()
    jars = home / "jars"
    complete = home / "complete"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if complete.exists():
            return jars
        maven = _require("mvn", "maven")
        shutil.rmtree(jars, ignore_errors=True)
        (home / "pom.xml").write_text(_pom())
        command = [maven, "-B", "-q", "-f", str(home / "pom.xml")]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += [f"-DoutputDirectory={jars}"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if done.returncode != 0:
            last_words = (done.stdout + done.stderr).strip()[-1500:]
            raise KafkaUnavailableError(
                f"Maven could not fetch Apache Kafka {KAFKA_VERSION}: is a Maven repository "
                f"reachable from here?\n{last_words}"
            )
        complete.touch()
    return jars


def java_command(
    main_class: str, arguments: Sequence[str], options: Sequence[str] = ()
) -> list[str]:
    """How to run one of Kafka's classes from the fetched jars."""
    return [java(), *options, *QUIET_LOG, "-cp", f"{fetch_jars()}/*", main_class, *arguments]


def java_version() -> str:
    told = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True)
    return told.stderr.splitlines()[0]


def drawn_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class KafkaJvm:
    """One node in a JVM of its own, whatever part its server.properties give it."""

    data: Path
    server_properties: str
    bootstrap: str
    cluster_id: str
    cpus: frozenset[int] | None = None
    heap: str = "1g"
    process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None, "not started"
        return self.process.pid

    def launch(self, timeout_s: float = 60) -> None:
        """Formats and starts it; a cluster's nodes are waited for when all are launched."""
        self.data.mkdir(parents=True, exist_ok=True)
        config = self.data / "server.properties"
        config.write_text(self.server_properties)
        formatting = ["format", "--config", str(config), f"--cluster-id={self.cluster_id}"]
        done = subprocess.run(
            java_command("kafka.tools.StorageTool", formatting, ["-Xmx256m"]),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode != 0:
            raise KafkaUnavailableError(f"kafka-storage format failed: {done.stderr[-1500:]}")
        options = [f"-Xms{self.heap}", f"-Xmx{self.heap}", *JVM_OPTIONS]
        with (self.data / "output").open("wb") as output:
            command = java_command("kafka.Kafka", [str(config)], options)
            if self.cpus is not None:
                # Set before the JVM starts, because it sizes its thread pools by what it may use.
                command = ["taskset", "-c", ",".join(map(str, sorted(self.cpus))), *command]
            # Nobody is left behind, however this process ends.
            command = ["setpriv", "--pdeathsig", "KILL", *command]
            self.process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait_until_ready(self, timeout_s: float = 60) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        assert self.process is not None
        deadline = time.monotonic() + timeout_s
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        while True:
            if self.process.poll() is not None:
                raise KafkaUnavailableError(f"Apache Kafka ended at start: {self.last_words()}")
            try:
                # A node that knows itself in its metadata answers produce and fetch as well.
                if admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                pass
            if time.monotonic() > deadline:
                raise KafkaUnavailableError(f"Apache Kafka never got ready: {self.last_words()}")

    def last_words(self) -> str:
        return (self.data / "output").read_text(errors="replace")[-1500:]

    def stop(self) -> None:
        """Ends the JVM by its pid; without a grace period when it does not go by itself."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


@dataclass
class ApacheKafka:
    """One KRaft node on loopback: broker and controller in one JVM."""

    data: Path
    properties: Mapping[str, str] = field(default_factory=dict)
    cpus: frozenset[int] | None = None
    heap: str = "1g"
    jvm: KafkaJvm | None = None

    @property
    def bootstrap(self) -> str:
        assert self.jvm is not None, "not started"
        return self.jvm.bootstrap

    @property
    def pid(self) -> int:
        assert self.jvm is not None, "not started"
        return self.jvm.pid

    def settings(self, port: int, controller_port: int) -> dict[str, str]:
        controller = f"127.0.0.1:{controller_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.data / "logs"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "auto.create.topics.enable": "false",
            **self.properties,
        }

    def start(self) -> None:
        port = free_port()
        settings = self.settings(port, free_port())
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        bootstrap = f"127.0.0.1:{port}"
        self.jvm = KafkaJvm(self.data, text, bootstrap, drawn_cluster_id(), self.cpus, self.heap)
        try:
            self.jvm.launch()
            self.jvm.wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        if self.jvm is not None:
            self.jvm.stop()
            self.jvm = None


@contextmanager
def running(
    properties: Mapping[str, str] | None = None, cpus: frozenset[int] | None = None
) -> Iterator[ApacheKafka]:
    """A node with its data in a temporary directory, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="apache-kafka-") as data:
        node = ApacheKafka(Path(data), properties or {}, cpus)
        node.start()
        try:
            yield node
        finally:
            node.stop()


def main() -> None:
    """Runs a node until interrupted or terminated: the oracle for the client tests."""
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    with running() as node:
        print(f"ready on {node.bootstrap}", flush=True)
        end.wait()


if __name__ == "__main__":
    main()
