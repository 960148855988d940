"""What `make demo` shows until `harness test` exists: a real client talks to our broker."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

_START_TIMEOUT_S = 20.0
_CLIENT_TIMEOUT_S = 60.0
_PARTITIONS = 4
_PROPERTIES = """\
node.id=1
listeners=PLAINTEXT://127.0.0.1:0
log.dirs={data}
"""


class DemoError(Exception):
    """The demo did not come out as promised."""


@contextmanager
def started_broker(directory: Path) -> Iterator[str]:
    """A broker process on a free port of loopback; stopped cleanly at the end."""
    config = directory / "server.properties"
    config.write_text(_PROPERTIES.format(data=directory / "data"))
    broker = [sys.executable, "-m", "broker"]
    subprocess.run([*broker, "format", "--config", str(config)], check=True, capture_output=True)
    with (directory / "broker.log").open("w") as log:
        process = subprocess.Popen(
            [*broker, "start", "--config", str(config)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready on "):
            raise DemoError(f"the broker did not start: {(directory / 'broker.log').read_text()}")
        yield line.removeprefix("ready on ").strip()
    finally:
        process.terminate()
        process.wait(_START_TIMEOUT_S)
        assert process.stdout is not None
        process.stdout.close()


def run_demo(*, message_count: int, codec: str, say: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="log-trial-demo-") as directory:
        with started_broker(Path(directory)) as bootstrap:
            say(f"broker     ready on {bootstrap}, one node, data in {directory}")
            _exchange(bootstrap, message_count, codec, say)
        size = sum(path.stat().st_size for path in Path(directory).rglob("*.log"))
        say(f"broker     stopped cleanly; its segments held {size / 1e6:.1f} MB")


def _exchange(bootstrap: str, message_count: int, codec: str, say: Callable[[str], None]) -> None:
    import confluent_kafka
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    client = AdminClient({"bootstrap.servers": bootstrap})
    topics = client.create_topics(
        [NewTopic("demo", num_partitions=_PARTITIONS, replication_factor=1)]
    )
    topics["demo"].result(_CLIENT_TIMEOUT_S)
    version = confluent_kafka.libversion()[0]
    say(f"topic      demo, {_PARTITIONS} partitions, created by librdkafka {version}")

    values = [(f"message {number} " * 64).encode()[:1024] for number in range(message_count)]
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": codec,
            "linger.ms": 10,
            "delivery.timeout.ms": int(_CLIENT_TIMEOUT_S / 3 * 1000),
            "queue.buffering.max.messages": message_count + 1,
        }
    )
    failures: list[str] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failures.append(str(error))

    started = time.perf_counter()
    for number, value in enumerate(values):
        producer.produce("demo", value, partition=number % _PARTITIONS, on_delivery=delivered)
    if producer.flush(_CLIENT_TIMEOUT_S) or failures:
        reason = failures[0] if failures else "no answer"
        raise DemoError(f"the producer could not deliver everything: {reason}")
    _say_speed(say, "produced", message_count, time.perf_counter() - started, f"acks=all, {codec}")

    started = time.perf_counter()
    read = _consume(bootstrap, message_count)
    _say_speed(say, "consumed", len(read), time.perf_counter() - started, "from the beginning")
    if _digest(read) != _digest(values):
        raise DemoError("what was read is not what was sent")
    say("verdict    every message came back once, byte for byte")


def _consume(bootstrap: str, message_count: int) -> list[bytes]:
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "demo", "enable.auto.commit": False}
    )
    consumer.assign(
        [
            confluent_kafka.TopicPartition("demo", index, confluent_kafka.OFFSET_BEGINNING)
            for index in range(_PARTITIONS)
        ]
    )
    read: list[bytes] = []
    deadline = time.monotonic() + _CLIENT_TIMEOUT_S
    while len(read) < message_count:
        if time.monotonic() > deadline:
            raise DemoError(f"only {len(read)} of {message_count} messages came back")
        # Asked for more than is left, it would wait for them until its time is up.
        for message in consumer.consume(min(10_000, message_count - len(read)), 1.0):
            if message.error():
                raise DemoError(f"the consumer was told: {message.error()}")
            read.append(message.value() or b"")
    consumer.close()
    return read


def _digest(values: list[bytes]) -> str:
    return sha256(b"".join(sorted(values))).hexdigest()


def _say_speed(say: Callable[[str], None], verb: str, count: int, seconds: float, how: str) -> None:
    say(
        f"{verb:10} {count:,} messages of 1 KiB in {seconds:.2f} s: "
        f"{count / seconds:,.0f} a second, {count / 1024 / seconds:.0f} MiB/s ({how})"
    )
