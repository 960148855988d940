"""WriteTxnMarkers: what a broker makes of a coordinator's markers, and whom it fences."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from broker.protocol.batch import TRANSACTIONAL
from tests.differential.areas.describe_producers import wanted
from tests.differential.areas.produce import produce
from tests.differential.batches import numbered
from tests.differential.producers import Producer, add, new_producer
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

MARKERS = ApiKey.WRITE_TXN_MARKERS


def markers(producer: Producer, topic: str, *partitions: int, **more: Any) -> Fields:
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "transaction_result": True,
        "topics": [{"name": topic, "partition_indexes": list(partitions)}],
        "coordinator_epoch": 0,
        **more,
    }
    return {"markers": [marker]}


def open_transaction(talk: Talk, topic: Topic) -> Producer:
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0)
    records = numbered(producer[1:], 0, b"a", attributes=TRANSACTIONAL)
    talk.setup(
        ApiKey.PRODUCE, version=9,
        **produce(topic, records, transactional_id=producer.transactional_id),
    )  # fmt: skip
    return producer


def show(talk: Talk, topic: Topic, step: str) -> None:
    talk.ask(step, ApiKey.DESCRIBE_PRODUCERS, version=0, **wanted(topic.name, 0))


@story(MARKERS)
def of_an_open_transaction(talk: Talk) -> None:
    for commit in (True, False):
        topic = talk.topic()
        producer = open_transaction(talk, topic)
        show(talk, topic, f"open, {commit}")
        talk.ask(f"commit {commit}", **markers(producer, topic.name, 0, transaction_result=commit))
        show(talk, topic, f"after {commit}")
        talk.ask(f"again, {commit}", **markers(producer, topic.name, 0, transaction_result=commit))


@story(MARKERS)
def that_are_fenced(talk: Talk) -> None:
    topic = talk.topic()
    producer = open_transaction(talk, topic)
    talk.ask("coordinator epoch 5", **markers(producer, topic.name, 0, coordinator_epoch=5))
    talk.ask("coordinator epoch 4", **markers(producer, topic.name, 0, coordinator_epoch=4))
    later = producer.with_epoch(producer.producer_epoch + 1)
    talk.ask("a later epoch", **markers(later, topic.name, 0, coordinator_epoch=5))
    talk.ask("the earlier epoch", **markers(producer, topic.name, 0, coordinator_epoch=5))
    show(talk, topic, "the producer")


@story(MARKERS)
def of_version_2(talk: Talk) -> None:
    """Each transaction has an epoch of its own, and its marker the next one."""
    if talk.version < 2:
        return
    topic = talk.topic()
    producer = open_transaction(talk, topic)
    later = producer.with_epoch(producer.producer_epoch + 1)
    talk.ask("the same epoch", **markers(producer, topic.name, 0, transaction_version=2))
    talk.ask("the next epoch", **markers(later, topic.name, 0, transaction_version=2))
    talk.ask("again", **markers(later, topic.name, 0, transaction_version=2))
    show(talk, topic, "the producer")


@story(MARKERS)
def of_nothing(talk: Talk) -> None:
    topic = talk.topic()
    stranger = Producer("x", 987_654_321, 3)
    talk.ask("no markers", markers=[])
    talk.ask("unknown producer", **markers(stranger, topic.name, 0))
    talk.ask("unknown topic", **markers(stranger, talk.name(), 0))
    talk.ask("unknown partition", **markers(stranger, topic.name, 0, 7))
    talk.ask("no partitions", **markers(stranger, topic.name))
    show(talk, topic, "the producer")


@story(MARKERS)
def of_no_producer(talk: Talk) -> None:
    topic = talk.topic()
    talk.ask("no producer id", **markers(Producer("x", -1, 0), topic.name, 0))
    talk.ask("no epoch", **markers(Producer("x", 987_654_322, -1), topic.name, 0))
    talk.ask("negative epoch", **markers(Producer("x", 987_654_322, -2), topic.name, 0))
    show(talk, topic, "nobody")
