"""EndTxn: up to version 4 all transactions of a producer have one epoch, then each has its own."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.producers import (
    Producer,
    add,
    end,
    new_id,
    new_producer,
    settle,
    until_state,
)
from tests.differential.script import story
from tests.differential.talk import Talk

END = ApiKey.END_TXN


def describe(talk: Talk, step: str, producer: Producer) -> None:
    name = producer.transactional_id
    talk.ask(step, ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name])


def finish(talk: Talk, step: str, producer: Producer, *, commit: bool) -> Any:
    answer = talk.ask(step, **producer.fields, committed=commit)
    settle(talk, producer.transactional_id)
    return answer


@story(END)
def of_a_transaction(talk: Talk) -> None:
    topic = talk.topic(2)
    for commit in (True, False):
        producer = new_producer(talk)
        add(talk, producer, topic.name, 0, 1)
        given = finish(talk, f"commit {commit}", producer, commit=commit)
        describe(talk, f"commit {commit} is done", producer)
        finish(talk, f"commit {commit} again", producer, commit=commit)
        finish(talk, f"the other after {commit}", producer, commit=not commit)
        if talk.version >= 5:
            later = producer._replace(
                producer_id=given.producer_id, producer_epoch=given.producer_epoch
            )
            finish(talk, f"commit of nothing after {commit}", later, commit=True)
            given = finish(talk, f"abort of nothing after {commit}", later, commit=False)
            finish(talk, f"abort of nothing after {commit} again", later, commit=False)
            describe(talk, f"nothing after {commit}", producer)


@story(END)
def of_nothing(talk: Talk) -> None:
    for commit in (True, False):
        producer = new_producer(talk)
        finish(talk, f"commit {commit}", producer, commit=commit)
        describe(talk, f"state after {commit}", producer)
        finish(talk, f"commit {commit} with an older epoch", producer.with_epoch(-1), commit=commit)


@story(END)
def by_others(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0)
    for commit in (True, False):
        finish(talk, f"{commit}: older epoch", producer.with_epoch(-1), commit=commit)
        finish(talk, f"{commit}: later epoch", producer.with_epoch(1), commit=commit)
        stranger = producer._replace(producer_id=10**12)
        finish(talk, f"{commit}: another producer id", stranger, commit=commit)
        unknown = producer._replace(transactional_id=new_id(talk))
        finish(talk, f"{commit}: unknown id", unknown, commit=commit)
        nameless = producer._replace(transactional_id="").fields
        talk.ask(f"{commit}: empty id", **nameless, committed=commit)
    describe(talk, "is still open", producer)
    heir = new_producer(talk, producer.transactional_id)
    finish(talk, "of a zombie", producer, commit=True)
    finish(talk, "of its heir", heir, commit=False)


@story(END)
def after_a_timeout(talk: Talk) -> None:
    topic = talk.topic()
    for commit in (True, False):
        producer = new_producer(talk, timeout_ms=1)
        add(talk, producer, topic.name, 0)
        until_state(talk, producer.transactional_id, "CompleteAbort")
        finish(talk, f"commit {commit}", producer, commit=commit)
        describe(talk, f"after commit {commit}", producer)


@story(END)
def of_the_second_transaction(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0)
    later = end(talk, producer, commit=True, version=talk.version)
    add(talk, later, topic.name, 0)
    finish(talk, "a late repetition", producer, commit=True)
    describe(talk, "after it", producer)
    finish(talk, "the second", later, commit=False)


@story(END)
def of_offsets(talk: Talk) -> None:
    producer = new_producer(talk)
    talk.setup(ApiKey.ADD_OFFSETS_TO_TXN, version=3, **producer.fields, group_id="a")
    finish(talk, "commit", producer, commit=True)
    describe(talk, "is done", producer)


@story(END, 5)
def versions_are_mixed(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0)
    end(talk, producer, commit=True, version=4)
    finish(talk, "a repetition in version 5", producer, commit=True)
    finish(talk, "an abort in version 5", producer, commit=False)
    describe(talk, "after it", producer)
