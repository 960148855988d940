"""A real broker process for the real clients, one per test process.

CLIENT_TEST_BOOTSTRAP=host:port aims the whole suite at a broker that already runs, Apache Kafka
for one: what the suite expects is first proved there. That broker needs the settings of `GROUPS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.apache_kafka import free_port
from tests.clients.aiokafka_speaker import AiokafkaSpeaker
from tests.clients.confluent_speaker import ConfluentSpeaker
from tests.clients.java_speaker import JavaSpeaker
from tests.clients.kafka_python_speaker import KafkaPythonSpeaker
from tests.clients.kafkajs_speaker import KafkajsSpeaker
from tests.clients.kcat_speaker import KcatSpeaker
from tests.clients.speaker import TIMEOUT_S, Reader, Speaker

CreateTopic = Callable[..., str]


GROUPS = (
    "group.initial.rebalance.delay.ms=0\n"  # a new group waits three seconds for more members
    "group.min.session.timeout.ms=1000\n"  # and a member that was killed lives on for six
    # Members of the consumer protocol have no say in this: sessions of 45 s, heartbeats every 5 s,
    # and an assignment once a second.
    "group.consumer.min.session.timeout.ms=1000\n"
    "group.consumer.session.timeout.ms=3000\n"
    "group.consumer.min.heartbeat.interval.ms=100\n"
    "group.consumer.heartbeat.interval.ms=200\n"
    "group.consumer.assignment.interval.ms=100\n"
    # Transactions that are open for too long are looked for every ten seconds.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200\n"
)


class RunningBroker:
    """`broker format` and `broker start`, as a user would type them."""

    def __init__(self, home: Path, *, more_data: Path | None = None) -> None:
        self.data = home / "data"
        log_dirs = ",".join(str(path) for path in (self.data, more_data) if path is not None)
        config = home / "server.properties"
        self.controller = f"127.0.0.1:{free_port()}"
        config.write_text(
            "node.id=1\n"
            "process.roles=broker,controller\n"
            f"listeners=PLAINTEXT://127.0.0.1:{free_port()},CONTROLLER://{self.controller}\n"
            "controller.listener.names=CONTROLLER\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            f"log.dirs={log_dirs}\n"
            "auto.create.topics.enable=false\n"
            f"{GROUPS}"
        )
        broker = str(Path(sys.executable).with_name("broker"))
        subprocess.run(
            [broker, "format", "--config", str(config)],
            check=True,
            timeout=TIMEOUT_S,
            capture_output=True,
        )
        self._errors = (home / "stderr").open("w+b")
        self._process = subprocess.Popen(
            [broker, "start", "--config", str(config)],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.bootstrap = self._wait_until_ready()
        assert self._process.stdout is not None
        # A full pipe would stop the broker, so what it goes on to say is read and dropped.
        self._drain = threading.Thread(target=self._process.stdout.read, daemon=True)
        self._drain.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _wait_until_ready(self) -> str:
        assert self._process.stdout is not None
        stuck = threading.Timer(TIMEOUT_S, self._process.kill)
        stuck.start()
        try:
            for line in self._process.stdout:
                if "ready on " in line:
                    return line.rpartition("ready on ")[2].split()[0]
        finally:
            stuck.cancel()
        self._errors.seek(0)
        raise AssertionError(f"the broker never got ready: {self._errors.read()[-2000:]!r}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._drain.join()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._errors.close()


@pytest.fixture(scope="session")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker | None]:
    """None when the suite is aimed elsewhere."""
    if os.environ.get("CLIENT_TEST_BOOTSTRAP"):
        yield None
        return
    broker = RunningBroker(tmp_path_factory.mktemp("broker"))
    try:
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def bootstrap(own_broker: RunningBroker | None) -> str:
    return os.environ["CLIENT_TEST_BOOTSTRAP"] if own_broker is None else own_broker.bootstrap


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


@pytest.fixture(scope="session")
def create_topic(admin: AdminClient) -> CreateTopic:
    """Makes a topic with a name of its own and returns the name."""

    def create(partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        name = f"trial-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, partitions, 1, config=dict(config or {}))
        admin.create_topics([topic])[name].result(TIMEOUT_S)
        return name

    return create


SPEAKERS: Mapping[str, Callable[[str], Speaker]] = {
    "confluent-kafka": ConfluentSpeaker,
    "aiokafka": AiokafkaSpeaker,
    "kafka-python": KafkaPythonSpeaker,
    "kcat": KcatSpeaker,
    "kafkajs": KafkajsSpeaker,
    "java": JavaSpeaker,
}
READERS = tuple(name for name in SPEAKERS if name != "kafkajs")


class Speakers:
    """Every client at most once per test process: a Java machine is dear to start."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._open: dict[str, Speaker] = {}

    def named(self, name: str) -> Speaker:
        if name not in self._open:
            self._open[name] = SPEAKERS[name](self._bootstrap)
        return self._open[name]

    def reader(self, name: str) -> Reader:
        assert name in READERS
        return cast("Reader", self.named(name))

    def close(self) -> None:
        for speaker in self._open.values():
            speaker.close()


@pytest.fixture(scope="session")
def speakers(bootstrap: str) -> Iterator[Speakers]:
    opened = Speakers(bootstrap)
    yield opened
    opened.close()


def marked(name: str) -> object:
    """The name as a parameter, in the lane of its language."""
    return pytest.param(name, marks=pytest.mark.java) if name == "java" else name


@pytest.fixture(params=[marked(name) for name in SPEAKERS])
def speaker(request: pytest.FixtureRequest, speakers: Speakers) -> Speaker:
    """Each client that can produce, in turn."""
    return speakers.named(request.param)


@pytest.fixture(params=[marked(name) for name in READERS])
def reader(request: pytest.FixtureRequest, speakers: Speakers) -> Reader:
    """Each client that can read a partition by itself, in turn."""
    return speakers.reader(request.param)


@pytest.fixture(scope="session")
def witness(bootstrap: str) -> Reader:
    """The client that reads back what another wrote, where any would do."""
    return ConfluentSpeaker(bootstrap)
