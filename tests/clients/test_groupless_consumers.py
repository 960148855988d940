"""Consumers that name a group and assign partitions to themselves."""

from __future__ import annotations

import subprocess
import sys

import aiokafka
import kafka
import pytest

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import TIMEOUT_S, Message, Reader

pytestmark = pytest.mark.clients

_ASSIGN_WITHOUT_AN_OFFSET = """
import sys
from confluent_kafka import Consumer, TopicPartition

consumer = Consumer({
    "bootstrap.servers": sys.argv[1],
    "group.id": sys.argv[2],
    "auto.offset.reset": "earliest",
})
place = TopicPartition(sys.argv[2], 0)
assert consumer.committed([place], timeout=20)[0].offset < 0
consumer.assign([place])
message = consumer.poll(20)
assert message is not None and message.value() == b"x", message
assert consumer.position([place])[0].offset == 1
consumer.close()
"""


@pytest.fixture(scope="module")
def topic(create_topic: CreateTopic, witness: Reader) -> str:
    name = create_topic()
    witness.produce(name, 0, [Message(b"x")])
    return name


def test_librdkafka_reads_an_assigned_partition_without_an_offset(
    bootstrap: str, topic: str
) -> None:
    # In a process of its own: librdkafka 2.16 answered an unserved OffsetFetch by SIGSEGV.
    command = [sys.executable, "-c", _ASSIGN_WITHOUT_AN_OFFSET, bootstrap, topic]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S + 40, check=False
    )
    assert done.returncode == 0, done.stderr


def test_kafka_python_reads_an_assigned_partition_without_an_offset(
    bootstrap: str, topic: str
) -> None:
    place = kafka.TopicPartition(topic, 0)
    reader = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=f"kafka-python-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    assert reader.committed(place) is None
    reader.assign([place])
    [records] = reader.poll(timeout_ms=int(TIMEOUT_S * 1000)).values()
    assert [record.value for record in records] == [b"x"]
    assert reader.position(place) == 1
    reader.close()


async def test_aiokafka_reads_an_assigned_partition_without_an_offset(
    bootstrap: str, topic: str
) -> None:
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=f"aiokafka-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        place = aiokafka.TopicPartition(topic, 0)
        consumer.assign([place])
        assert await consumer.committed(place) is None
        record = await consumer.getone()
        assert (record.value, await consumer.position(place)) == (b"x", 1)
    finally:
        await consumer.stop()
