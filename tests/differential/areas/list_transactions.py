"""DescribeTransactions and ListTransactions: what a coordinator shows."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.producers import add, end, new_id, new_producer
from tests.differential.script import story
from tests.differential.talk import Talk

DESCRIBE, LIST = ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS


@story(DESCRIBE)
def described(talk: Talk) -> None:
    topic, other = talk.topic(3), talk.topic()
    empty, open_one, done = (new_producer(talk) for _ in range(3))
    add(talk, open_one, topic.name, 2, 0)
    add(talk, open_one, other.name, 0)
    add(talk, done, topic.name, 1)
    end(talk, done, commit=True)
    names = [each.transactional_id for each in (empty, open_one, done)]
    talk.ask("three states", transactional_ids=names)
    talk.ask("unknown id", transactional_ids=[new_id(talk)])
    talk.ask("empty id", transactional_ids=[""])
    talk.ask("good and bad", transactional_ids=["", names[0]])
    talk.ask("none", transactional_ids=[])


@story(LIST)
def listed(talk: Talk) -> None:
    topic = talk.topic()
    empty, open_one, done = (new_producer(talk) for _ in range(3))
    add(talk, open_one, topic.name, 0)
    add(talk, done, topic.name, 0)
    end(talk, done, commit=False)
    # Other stories of the area have ids of their own, so each list is one of these producers.
    ids = [each.producer_id for each in (empty, open_one, done)]
    talk.ask("three producers", producer_id_filters=ids)
    talk.ask("open", producer_id_filters=ids, state_filters=["Ongoing"])
    talk.ask("two states", producer_id_filters=ids, state_filters=["Empty", "CompleteAbort"])
    talk.ask("unknown state", producer_id_filters=ids, state_filters=["nope", "Empty"])
    talk.ask("only an unknown state", producer_id_filters=ids, state_filters=["nope"])
    talk.ask("state in lower case", producer_id_filters=ids, state_filters=["ongoing"])
    talk.ask("no producer has it", producer_id_filters=[10**12])
    if talk.version >= 1:
        talk.ask("long ago", producer_id_filters=ids, duration_filter=10**9)
        talk.ask("any duration", producer_id_filters=ids, duration_filter=0)
        talk.ask("a negative duration", producer_id_filters=ids, duration_filter=-5)
    if talk.version >= 2:
        name = open_one.transactional_id
        for pattern in (name, f"{name}.*", "nope", f".*{name[1:]}", name[:-1], "", "(", "a{2,1}"):
            talk.ask(
                f"pattern {pattern.replace(talk.label, '~')}", producer_id_filters=ids,
                transactional_id_pattern=pattern,
            )  # fmt: skip
