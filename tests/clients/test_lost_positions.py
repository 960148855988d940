"""A reader whose offset is not in the log goes where its reset policy says, as with Kafka."""

from __future__ import annotations

import subprocess
import time

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import TIMEOUT_S, Message, Reader

pytestmark = pytest.mark.clients


@pytest.fixture
def short_topic(create_topic: CreateTopic, witness: Reader) -> str:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"%d" % number) for number in range(10)])
    return topic


def first_of(bootstrap: str, topic: str, offset: int, reset: str) -> tuple[int | None, int | None]:
    """The first message's offset, or the code of the first error."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "auto.offset.reset": reset}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is not None:
                error = message.error()
                return (message.offset(), None) if error is None else (None, error.code())
        raise AssertionError("neither a message nor an error")
    finally:
        consumer.close()


def test_an_offset_beyond_the_end_is_reset_to_the_earliest(
    bootstrap: str, short_topic: str
) -> None:
    assert first_of(bootstrap, short_topic, 5000, "earliest") == (0, None)


def test_an_offset_that_was_deleted_is_reset_to_what_is_left(
    bootstrap: str, admin: AdminClient, short_topic: str
) -> None:
    deleted = admin.delete_records([TopicPartition(short_topic, 0, 7)])
    for done in deleted.values():
        done.result(TIMEOUT_S)
    assert first_of(bootstrap, short_topic, 3, "earliest") == (7, None)


def test_without_a_policy_the_reader_is_told(bootstrap: str, short_topic: str) -> None:
    code = KafkaError._AUTO_OFFSET_RESET
    assert first_of(bootstrap, short_topic, 5000, "error") == (None, code)


def test_kcat_comes_to_its_end(bootstrap: str, short_topic: str) -> None:
    command = ["kcat", "-b", bootstrap, "-C", "-t", short_topic, "-p", "0", "-o", "500", "-e"]
    done = subprocess.run(command, check=True, timeout=TIMEOUT_S, capture_output=True)
    assert b"parse failure" not in done.stderr
