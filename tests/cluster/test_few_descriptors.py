"""A real broker that may open 256 files, with more partitions: made, written, read, and again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

# The package exports these names without saying so to type checkers.
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.unit.broker.cli.processes import free_ports

pytestmark = pytest.mark.clients

ROOT = Path(__file__).parents[2]
FILES = 256
PARTITIONS = 400


@contextmanager
def running(config: Path) -> Iterator[int]:
    """The broker's pid, as soon as it says that it is ready."""
    limited = ["setpriv", "--pdeathsig", "KILL", "prlimit", f"--nofile={FILES}:{FILES}"]
    with (config.parent / "broker.log").open("ab") as log:
        process = subprocess.Popen(
            [*limited, sys.executable, "-m", "broker", "start", "--config", str(config)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready on")
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        if process.stdout is not None:
            process.stdout.close()


def open_segments(pid: int) -> int:
    names = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return sum(name.endswith(".log") for name in names)


def write(bootstrap: str, value: bytes) -> None:
    problems = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for partition in range(PARTITIONS):
        producer.produce(
            "t",
            value,
            partition=partition,
            on_delivery=lambda error, _: problems.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert problems == []


def read(bootstrap: str, each: int) -> dict[int, list[bytes]]:
    # Without commits: one node cannot have the three replicas of the topic of commits, and to close
    # a consumer that has something to commit took 45 s.
    settings = {"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
    found: dict[int, list[bytes]] = {partition: [] for partition in range(PARTITIONS)}
    count = 0
    until = time.monotonic() + 60
    while count < each * PARTITIONS:
        messages = consumer.consume(1000, timeout=0.2)
        assert messages or time.monotonic() < until, f"only {count} records came"
        for message in messages:
            assert message.error() is None
            partition, value = message.partition(), message.value()
            assert partition is not None
            assert value is not None
            found[partition].append(value)
            count += 1
    consumer.close()
    return found


@pytest.mark.long
def test_more_partitions_than_files_are_made_written_read_and_opened_again(tmp_path: Path) -> None:
    port, quorum = free_ports(2)
    config = tmp_path / "server.properties"
    config.write_text(
        "node.id=1\nprocess.roles=broker,controller\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{quorum}\n"
        f"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:{quorum}\n"
        f"log.dirs={tmp_path / 'logs'}\n"
    )
    command = [sys.executable, "-m", "broker", "format", "--config", str(config)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True, timeout=60)
    bootstrap = f"127.0.0.1:{port}"
    with running(config) as pid:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(60)
        write(bootstrap, b"first")
        assert read(bootstrap, 1) == {each: [b"first"] for each in range(PARTITIONS)}
        assert open_segments(pid) < FILES
    with running(config) as pid:
        assert open_segments(pid) < FILES
        write(bootstrap, b"second")
        assert read(bootstrap, 2) == {each: [b"first", b"second"] for each in range(PARTITIONS)}
    log = (tmp_path / "broker.log").read_text()
    assert "Too many open files" not in log
