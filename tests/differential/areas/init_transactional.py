"""InitProducerId with a transactional id."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.producers import (
    TIMEOUT_MS,
    Producer,
    add,
    end,
    new_id,
    new_producer,
    settle,
    until_state,
)
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

INIT = ApiKey.INIT_PRODUCER_ID


def begin(name: str, timeout_ms: int = TIMEOUT_MS) -> Fields:
    return {"transactional_id": name, "transaction_timeout_ms": timeout_ms}


def go_on(producer: Producer) -> Fields:
    return begin(producer.transactional_id) | {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
    }


@story(INIT)
def one_after_the_other(talk: Talk) -> None:
    name = new_id(talk)
    talk.ask("first", **begin(name))
    talk.ask("second", **begin(name))
    talk.ask("another timeout", **begin(name, 1000))
    talk.ask("state", ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name])
    talk.ask("another id", **begin(new_id(talk)))


@story(INIT)
def timeouts(talk: Talk) -> None:
    name = new_id(talk)
    for timeout_ms in (0, -1, 900_001, 2**31 - 1):
        talk.ask(f"{timeout_ms} ms", **begin(name, timeout_ms))
    talk.ask("not made", ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name])
    talk.ask("900000 ms", **begin(name, 900_000))
    talk.ask("1 ms", **begin(name, 1))


@story(INIT, 3)
def a_producer_that_goes_on(talk: Talk) -> None:
    producer = new_producer(talk)
    talk.ask("with its epoch", **go_on(producer))
    talk.ask("once more", **go_on(producer))
    talk.ask("with the epoch after", **go_on(producer.with_epoch(1)))
    talk.ask("with the first epoch", **go_on(producer))
    talk.ask("with an epoch that was never given", **go_on(producer.with_epoch(7)))
    stranger = producer._replace(producer_id=10**12)
    talk.ask("with another id", **go_on(stranger))
    talk.ask("an id without epoch", **go_on(producer.with_epoch(-1)))
    talk.ask("an epoch without id", **go_on(producer._replace(producer_id=-1)))
    talk.ask("a new one", **begin(producer.transactional_id))
    talk.ask("an older one", **go_on(producer.with_epoch(2)))


@story(INIT, 3)
def an_unknown_id_that_goes_on(talk: Talk) -> None:
    talk.ask("a new id", **go_on(Producer(new_id(talk), 10**12, 5)))


@story(INIT)
def during_a_transaction(talk: Talk) -> None:
    topic = talk.topic(2)
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0, 1)
    talk.ask("a new one", **begin(producer.transactional_id))
    settle(talk, producer.transactional_id)
    talk.ask("aborted", ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[producer[0]])
    talk.ask("once more", **begin(producer.transactional_id))


@story(INIT, 3)
def during_its_own_transaction(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0)
    talk.ask("an older epoch", **go_on(producer.with_epoch(5)))
    settle(talk, producer.transactional_id)
    given = talk.ask("its own epoch", **go_on(producer))
    talk.ask("the next one", **go_on(producer.with_epoch(given.producer_epoch)))


@story(INIT)
def after_a_transaction(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk)
    for commit in (True, False):
        add(talk, producer, topic.name, 0)
        end(talk, producer, commit=commit)
        talk.ask(f"after {commit}", **begin(producer.transactional_id))
        talk.ask("state", ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[producer[0]])
        producer = new_producer(talk, producer.transactional_id)


@story(INIT, 3)
def after_a_timeout(talk: Talk) -> None:
    topic = talk.topic()
    producer = new_producer(talk, timeout_ms=1)
    add(talk, producer, topic.name, 0)
    until_state(talk, producer.transactional_id, "CompleteAbort")
    talk.ask("state", ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[producer[0]])
    talk.ask("with its epoch", **go_on(producer))
    talk.ask("a new one", **begin(producer.transactional_id))
