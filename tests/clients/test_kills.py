"""A broker killed again and again under an idempotent producer: nothing lost, doubled or moved."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.clients.speaker import TIMEOUT_S

pytestmark = pytest.mark.clients

PARTITIONS = 3
UNDER_WAY_MAX = 20_000
Place = tuple[int, int]  # partition and offset


class MortalBroker:
    """On one port for all its lives, so that its clients find it again."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.bootstrap = f"127.0.0.1:{probe.getsockname()[1]}"
        self._config = home / "server.properties"
        self._config.write_text(
            f"node.id=1\nlisteners=PLAINTEXT://{self.bootstrap}\nlog.dirs={home / 'data'}\n"
            "log.segment.bytes=1048576\n"
        )
        self._log = (home / "broker.log").open("w")
        subprocess.run(self._command("format"), check=True, capture_output=True)
        self.start()

    def _command(self, verb: str) -> list[str]:
        return [sys.executable, "-m", "broker", verb, "--config", str(self._config)]

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command("start"), stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("ready on ")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(TIMEOUT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def close(self) -> None:
        self.kill()
        self._log.close()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[MortalBroker]:
    broker = MortalBroker(tmp_path)
    try:
        yield broker
    finally:
        broker.close()


def produce_while_killing(broker: MortalBroker, kills: int, random: Random) -> dict[int, Place]:
    """Where each acknowledged number was stored."""
    acknowledged: dict[int, Place] = {}

    def delivered(error: object, message: Message) -> None:
        assert error is None, error
        place = message.partition(), message.offset()
        acknowledged[int((message.value() or b"").split()[0])] = place  # type: ignore[assignment]

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 2,
            "log_level": 0,
        }
    )
    number = 0
    for _ in range(kills):
        until = time.monotonic() + random.uniform(0.2, 0.8)
        while time.monotonic() < until:
            for _ in range(50 if len(producer) < UNDER_WAY_MAX else 0):
                value = b"%d %s" % (number, b"x" * 300)
                producer.produce("t", value, partition=number % PARTITIONS, on_delivery=delivered)
                number += 1
            producer.poll(0.005)
        broker.kill()
        broker.start()
    assert producer.flush(TIMEOUT_S) == 0
    assert len(acknowledged) == number
    return acknowledged


def read_everything(bootstrap: str, count: int) -> list[tuple[int, Place]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "log_level": 0})
    consumer.assign([TopicPartition("t", index, 0) for index in range(PARTITIONS)])
    read: list[tuple[int, Place]] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(read) < count and time.monotonic() < deadline:
        for message in consumer.consume(min(5000, count - len(read)), 1.0):
            place = message.partition(), message.offset()
            read.append((int((message.value() or b"").split()[0]), place))  # type: ignore[arg-type]
    bounds = [
        consumer.get_watermark_offsets(TopicPartition("t", index), timeout=TIMEOUT_S)
        for index in range(PARTITIONS)
    ]
    consumer.close()
    # What stands beyond the expected count would be a duplicate.
    assert sum(high - low for low, high in bounds) == len(read)
    return read


@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_no_kill_loses_doubles_or_moves_a_record(mortal: MortalBroker, kills: int) -> None:
    admin = AdminClient({"bootstrap.servers": mortal.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(TIMEOUT_S)
    acknowledged = produce_while_killing(mortal, kills, Random(kills))
    read = read_everything(mortal.bootstrap, len(acknowledged))
    assert dict(read) == acknowledged
    assert len(read) == len(acknowledged)
    by_place = [number for number, _ in sorted(read, key=lambda each: each[1])]
    for index in range(PARTITIONS):
        of_partition = [number for number in by_place if acknowledged[number][0] == index]
        assert of_partition == sorted(of_partition)
