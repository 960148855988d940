"""AddPartitionsToTxn: by clients (versions 0 to 3) and by brokers (4 and later)."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.producers import (
    Producer,
    add,
    classic_partitions,
    end,
    new_id,
    new_producer,
    settle,
)
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

ADD = ApiKey.ADD_PARTITIONS_TO_TXN
OFFSETS = ApiKey.ADD_OFFSETS_TO_TXN


def for_brokers(
    producer: Producer, topic: str, *partitions: int, verify_only: bool = False
) -> Fields:
    return {
        **producer.fields,
        "verify_only": verify_only,
        "topics": [{"name": topic, "partitions": list(partitions)}],
    }


def describe(talk: Talk, step: str, producer: Producer) -> None:
    name = producer.transactional_id
    talk.ask(step, ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name])


@story(ADD, 0, 3)
def by_clients(talk: Talk) -> None:
    topic = talk.topic(3)
    producer = new_producer(talk)
    talk.ask("one", **classic_partitions(producer, topic.name, 1))
    describe(talk, "one is there", producer)
    talk.ask("the same", **classic_partitions(producer, topic.name, 1))
    talk.ask("more", **classic_partitions(producer, topic.name, 2, 0))
    describe(talk, "all are there", producer)
    talk.ask("older epoch", **classic_partitions(producer.with_epoch(-1), topic.name, 0))
    talk.ask("later epoch", **classic_partitions(producer.with_epoch(1), topic.name, 0))
    stranger = producer._replace(producer_id=10**12)
    talk.ask("another producer id", **classic_partitions(stranger, topic.name, 0))
    unknown = producer._replace(transactional_id=new_id(talk))
    talk.ask("unknown id", **classic_partitions(unknown, topic.name, 0))
    nameless = producer._replace(transactional_id="")
    talk.ask("empty id", **classic_partitions(nameless, topic.name, 0))


@story(ADD, 0, 3)
def partitions_that_do_not_exist(talk: Talk) -> None:
    topic = talk.topic(2)
    producer = new_producer(talk)
    talk.ask("unknown topic", **classic_partitions(producer, talk.name(), 0))
    talk.ask("illegal name", **classic_partitions(producer, "no/name", 0))
    talk.ask("one of two", **classic_partitions(producer, topic.name, 1, 2))
    talk.ask("negative", **classic_partitions(producer, topic.name, -1))
    talk.ask("no partitions", **classic_partitions(producer, topic.name))
    describe(talk, "nothing has begun", producer)
    fields = classic_partitions(producer, topic.name, 0)
    talk.ask("no topics", **fields | {"v3_and_below_topics": []})
    talk.ask("twice in a request", **classic_partitions(producer, topic.name, 0, 0))
    unknown = {"name": talk.name(), "partitions": [0]}
    known = {"name": topic.name, "partitions": [0]}
    talk.ask("two topics", **fields | {"v3_and_below_topics": [unknown, known]})
    internal = {"name": "__transaction_state", "partitions": [0]}
    talk.ask("internal topic", **fields | {"v3_and_below_topics": [internal, known]})
    talk.ask("all kinds", **fields | {"v3_and_below_topics": [internal, unknown, known]})


@story(ADD, 0, 3)
def after_the_end(talk: Talk) -> None:
    topic = talk.topic(2)
    producer = new_producer(talk)
    add(talk, producer, topic.name, 0)
    end(talk, producer, commit=True)
    talk.ask("the next one", **classic_partitions(producer, topic.name, 1))
    describe(talk, "has one partition", producer)
    heir = new_producer(talk, producer.transactional_id)
    talk.ask("of a zombie", **classic_partitions(producer, topic.name, 0))
    talk.ask("of its heir", **classic_partitions(heir, topic.name, 0))


@story(ADD, 4)
def by_brokers(talk: Talk) -> None:
    topic = talk.topic(2)
    first, second = new_producer(talk), new_producer(talk)
    talk.ask("one", transactions=[for_brokers(first, topic.name, 1)])
    describe(talk, "one is there", first)
    talk.ask(
        "two producers",
        transactions=[for_brokers(first, topic.name, 0), for_brokers(second, topic.name, 1)],
    )
    zombie = for_brokers(second.with_epoch(7), topic.name, 0)
    talk.ask("one of two is wrong", transactions=[for_brokers(first, topic.name, 0), zombie])
    unknown = for_brokers(second, talk.name(), 0)
    talk.ask("unknown topic", transactions=[for_brokers(first, topic.name, 0), unknown])
    nobody = first._replace(transactional_id=new_id(talk))
    talk.ask("unknown id", transactions=[for_brokers(nobody, topic.name, 0)])
    nameless = first._replace(transactional_id="")
    talk.ask("empty id", transactions=[for_brokers(nameless, topic.name, 0)])
    stranger = first._replace(producer_id=10**12)
    talk.ask("another producer id", transactions=[for_brokers(stranger, topic.name, 0)])


@story(ADD, 4)
def verified(talk: Talk) -> None:
    topic = talk.topic(2)
    producer = new_producer(talk)

    def verify(step: str, who: Producer, *partitions: int) -> None:
        asked = for_brokers(who, topic.name, *partitions, verify_only=True)
        talk.ask(step, transactions=[asked])

    verify("nothing has begun", producer, 0)
    add(talk, producer, topic.name, 0)
    verify("one of two", producer, 0, 1)
    verify("older epoch", producer.with_epoch(-1), 0)
    verify("later epoch", producer.with_epoch(1), 0)
    verify("another producer id", producer._replace(producer_id=10**12), 0)
    verify("unknown id", producer._replace(transactional_id=new_id(talk)), 0)
    verify("empty id", producer._replace(transactional_id=""), 0)
    end(talk, producer, commit=False)
    verify("after the end", producer, 0)


@story(OFFSETS)
def offsets(talk: Talk) -> None:
    producer = new_producer(talk)
    talk.ask("a group", **producer.fields, group_id="a")
    describe(talk, "is there", producer)
    talk.ask("the same", **producer.fields, group_id="a")
    talk.ask("empty group", **producer.fields, group_id="")
    talk.ask("older epoch", **producer.with_epoch(-1).fields, group_id="a")
    talk.ask("later epoch", **producer.with_epoch(1).fields, group_id="a")
    stranger = producer._replace(producer_id=10**12)
    talk.ask("another producer id", **stranger.fields, group_id="a")
    unknown = producer._replace(transactional_id=new_id(talk))
    talk.ask("unknown id", **unknown.fields, group_id="a")
    talk.ask("empty id", **producer._replace(transactional_id="").fields, group_id="a")
    end(talk, producer, commit=True)
    settle(talk, producer.transactional_id)
    describe(talk, "after the end", producer)
