"""Transactions of real clients: commit, abort, a zombie, a timeout."""

from __future__ import annotations

import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka.cimpl import TopicPartition

from bench.apache_kafka import java_command
from broker.coordination.internal_topics import partition_for
from broker.transactions.state import TransactionState
from tests.clients.conftest import CreateTopic, RunningBroker
from tests.clients.java_speaker import SHORT_LIVED
from tests.clients.speaker import TIMEOUT_S
from tests.clients.test_java_tools import DUMP_LOG, tool
from tests.clients.transactional import PRODUCERS, ConfluentProducer, TransactionalProducer

pytestmark = pytest.mark.clients

NewProducer = Callable[..., TransactionalProducer]

_REFUSED = r"(?i)fence|epoch|fatal|newer|INVALID_TXN_STATE|InvalidTxnState"


@contextmanager
def producer(make: NewProducer, *arguments: object) -> Iterator[TransactionalProducer]:
    made = make(*arguments)
    try:
        yield made
    finally:
        made.close()


def finish(client: TransactionalProducer, topic: str) -> None:
    client.send(topic, 1, b"late")
    client.commit()


def new_id() -> str:
    return f"tx-{uuid.uuid4().hex[:12]}"


def committed(bootstrap: str, topic: str, *partitions: int) -> list[list[bytes]]:
    """What read_committed shows, up to the end of each log: no transaction may be left open."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        return [_all_of(consumer, topic, each) for each in partitions]
    finally:
        consumer.close()


def _all_of(consumer: Consumer, topic: str, partition: int) -> list[bytes]:
    """The end that such a reader is told of is that of the last transaction that has ended."""
    place = TopicPartition(topic, partition, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
    consumer.assign([place])
    values: list[bytes] = []
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            values.append(message.value() or b"")
        elif error.code() == KafkaError._PARTITION_EOF and (message.offset() or 0) >= end:
            return values
    raise AssertionError(f"{topic}-{partition}: readers never get to {end}: {values}")


def commit_abort_commit(make: NewProducer, bootstrap: str, topic: str) -> None:
    with producer(make, bootstrap, new_id()) as client:
        client.begin()
        client.send(topic, 0, b"one")
        client.send(topic, 1, b"two")
        client.commit()
        client.begin()
        client.send(topic, 0, b"aborted")
        client.abort()
        client.begin()
        client.send(topic, 0, b"three")
        client.commit()
    assert committed(bootstrap, topic, 0, 1) == [[b"one", b"three"], [b"two"]]


def test_a_committed_transaction_is_read_and_an_aborted_one_is_not(
    bootstrap: str, create_topic: CreateTopic
) -> None:
    commit_abort_commit(ConfluentProducer, bootstrap, create_topic(2))


@pytest.mark.slow
@pytest.mark.parametrize("library", PRODUCERS)
def test_each_library_commits_and_aborts(
    library: str, bootstrap: str, create_topic: CreateTopic
) -> None:
    commit_abort_commit(PRODUCERS[library], bootstrap, create_topic(2))


@pytest.mark.slow
@pytest.mark.parametrize("library", PRODUCERS)
def test_a_zombie_is_fenced(library: str, bootstrap: str, create_topic: CreateTopic) -> None:
    topic, name, make = create_topic(2), new_id(), PRODUCERS[library]
    with producer(make, bootstrap, name) as zombie:
        zombie.begin()
        zombie.send(topic, 0, b"zombie")
        with producer(make, bootstrap, name) as heir:
            heir.begin()
            heir.send(topic, 0, b"heir")
            heir.commit()
            with pytest.raises(Exception, match=_REFUSED):
                finish(zombie, topic)
    assert committed(bootstrap, topic, 0, 1) == [[b"heir"], []]


@pytest.mark.slow
@pytest.mark.parametrize("library", PRODUCERS)
def test_a_transaction_that_takes_too_long_is_aborted(
    library: str, bootstrap: str, create_topic: CreateTopic
) -> None:
    topic, make = create_topic(2), PRODUCERS[library]
    with producer(make, bootstrap, new_id(), 1000) as client:
        client.begin()
        client.send(topic, 0, b"slow")
        _wait_for_the_abort(bootstrap, topic)
        with pytest.raises(Exception, match=_REFUSED):
            finish(client, topic)
    assert committed(bootstrap, topic, 0) == [[]]
    assert committed(bootstrap, topic, 1) == [[]]


def _wait_for_the_abort(bootstrap: str, topic: str) -> None:
    """The marker is the second entry of the log."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    try:
        deadline = time.monotonic() + TIMEOUT_S
        place = TopicPartition(topic, 0)
        while consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)[1] < 2:
            assert time.monotonic() < deadline, "the coordinator aborts nothing"
            time.sleep(0.05)
    finally:
        consumer.close()


@pytest.mark.slow
@pytest.mark.java
def test_the_java_client_uses_transaction_version_2(
    bootstrap: str, create_topic: CreateTopic
) -> None:
    topic, name = create_topic(2), new_id()
    command = java_command("Transactions.java", [bootstrap, topic, name], SHORT_LIVED)
    done = subprocess.run(
        command,
        cwd=Path(__file__).parent / "java",
        timeout=100,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "committed", "aborted", "committed", "offsets committed", "heir committed",
        "zombie refused",
    ], done.stderr[-3000:]  # fmt: skip
    assert committed(bootstrap, topic, 0, 1) == [[b"one", b"three", b"heir"], [b"two", b"four"]]


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.skipif(
    bool(os.environ.get("CLIENT_TEST_BOOTSTRAP")), reason="the files of that broker are not ours"
)
def test_kafka_dump_log_reads_our_transaction_log(
    bootstrap: str, own_broker: RunningBroker, create_topic: CreateTopic
) -> None:
    topic, name = create_topic(2), new_id()
    with producer(ConfluentProducer, bootstrap, name) as client:
        client.begin()
        client.send(topic, 1, b"x")
        client.commit()
    committed(bootstrap, topic, 1)
    index = partition_for(name, 50)
    segment = own_broker.data / f"__transaction_state-{index}" / "00000000000000000000.log"
    dumped = tool(DUMP_LOG, ["--transaction-log-decoder", "--files", str(segment)])
    found = re.findall(rf'"{name}".*?"transactionStatus":(\d)', dumped)
    wanted = ("EMPTY", "ONGOING", "PREPARE_COMMIT", "COMPLETE_COMMIT")
    assert [TransactionState(int(each)).name for each in found] == list(wanted), dumped
