"""Offsets in transactions, with a real client: consume, transform, produce (KIP-447)."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import TIMEOUT_S

pytestmark = pytest.mark.clients


def _reader(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )


def _take(consumer: Consumer, count: int) -> list[bytes]:
    messages = consumer.consume(count, timeout=TIMEOUT_S)
    assert len(messages) == count
    return [each.value() or b"" for each in messages]


def _copy(consumer: Consumer, producer: Producer, target: str, values: list[bytes]) -> None:
    """One transaction: all of these, and the position of the consumer."""
    producer.begin_transaction()
    for value in values:
        producer.produce(target, value, partition=0)
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)


def test_input_offsets_and_output_are_one_transaction(
    bootstrap: str, create_topic: CreateTopic
) -> None:
    source, target = create_topic(), create_topic()
    group = f"g-{uuid.uuid4()}"
    plain = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        plain.produce(source, b"%d" % number, partition=0)
    plain.flush(TIMEOUT_S)
    consumer = _reader(bootstrap, group)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"x-{uuid.uuid4()}"})
    producer.init_transactions(TIMEOUT_S)
    consumer.subscribe([source])
    first = _take(consumer, 4)
    _copy(consumer, producer, target, first)
    producer.commit_transaction(TIMEOUT_S)
    _copy(consumer, producer, target, _take(consumer, 3))
    producer.abort_transaction(TIMEOUT_S)
    place = TopicPartition(source, 0)
    assert [each.offset for each in consumer.committed([place], TIMEOUT_S)] == [4]
    consumer.close()

    again = _reader(bootstrap, group)
    again.subscribe([source])
    assert _take(again, 6) == [b"%d" % number for number in range(4, 10)]
    again.close()
    output = _reader(bootstrap, f"g-{uuid.uuid4()}")
    output.subscribe([target])
    assert _take(output, 4) == first
    assert output.poll(0.2) is None
    output.close()
