"""Produce in transactions: what a partition's leader verifies, and what it refuses."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from broker.protocol.batch import TRANSACTIONAL
from tests.differential.areas.describe_producers import wanted
from tests.differential.areas.produce import produce
from tests.differential.batches import numbered
from tests.differential.producers import Producer, add, end, new_producer
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

PRODUCE = ApiKey.PRODUCE
_ADDING = 12
"""The first version with which the broker adds partitions."""


def records(producer: Producer, topic: Topic, sequence: int, **more: Any) -> Fields:
    data = numbered(producer[1:], sequence, b"v", attributes=TRANSACTIONAL)
    return produce(topic, data, **{"transactional_id": producer.transactional_id, **more})


def begin(talk: Talk, topic: Topic) -> Producer:
    producer = new_producer(talk)
    if talk.version < _ADDING:
        add(talk, producer, topic.name, 0)
    return producer


def show(talk: Talk, topic: Topic, step: str) -> None:
    talk.ask(step, ApiKey.DESCRIBE_PRODUCERS, version=0, **wanted(topic.name, 0))
    part = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    talk.ask(
        f"{step}, the end", ApiKey.LIST_OFFSETS, version=5, replica_id=-1, isolation_level=1,
        topics=[{"name": topic.name, "partitions": [part]}],
    )  # fmt: skip


@story(PRODUCE)
def a_transaction(talk: Talk) -> None:
    for commit in (True, False):
        topic = talk.topic()
        producer = begin(talk, topic)
        talk.ask(f"the first, {commit}", **records(producer, topic, 0))
        talk.ask(f"the second, {commit}", **records(producer, topic, 1))
        talk.ask(f"the first again, {commit}", **records(producer, topic, 0))
        talk.ask(f"a gap, {commit}", **records(producer, topic, 7))
        show(talk, topic, f"open, {commit}")
        end(talk, producer, commit=commit, version=4 if talk.version < _ADDING else 5)
        show(talk, topic, f"ended, {commit}")


@story(PRODUCE)
def outside_a_transaction(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk)
    if talk.version < _ADDING:
        talk.ask("a partition that was not added", **records(producer, topic, 0))
    talk.ask("no transactional id", **records(producer, topic, 0, transactional_id=None))
    other = producer._replace(transactional_id=talk.name("nobody"))
    talk.ask("an unknown transactional id", **records(other, topic, 0))
    stranger = producer._replace(producer_id=producer.producer_id + 10_000_000)
    talk.ask("another producer id", **records(stranger, topic, 0))
    plain = numbered(producer[1:], 0, b"v")
    talk.ask(
        "a plain batch with a transactional id",
        **produce(topic, plain, transactional_id=producer.transactional_id),
    )


@story(PRODUCE)
def a_sequence_that_was_aborted(talk: Talk) -> None:
    if talk.version >= _ADDING:
        return  # then each transaction has sequences of its own
    topic = talk.topic()
    producer = begin(talk, topic)
    talk.ask("the first", **records(producer, topic, 0))
    end(talk, producer, commit=False)
    add(talk, producer, topic.name, 0)
    talk.ask("the same sequence", **records(producer, topic, 0))
