"""Fetch: what is returned from where, and what is refused with which error."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.areas.produce import produce
from tests.differential.batches import NOW_MS, batch
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

FETCH = ApiKey.FETCH
UNKNOWN_ID = bytes(range(1, 17))
MAX_BYTES = 1 << 20


def part(offset: int = 0, index: int = 0, **more: Any) -> Fields:
    fields = {"partition": index, "fetch_offset": offset, "partition_max_bytes": MAX_BYTES}
    return {**fields, **more}


def fetch(topic: tuple[str, bytes], *parts: Fields, **more: Any) -> Fields:
    """The fields of a request for one topic that waits for nothing."""
    name, topic_id = topic
    return {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": MAX_BYTES,
        "topics": [{"topic": name, "topic_id": topic_id, "partitions": list(parts)}],
        **more,
    }


def filled(talk: Talk, batches: int = 3, partitions: int = 1, **configs: str) -> Topic:
    """A topic with batches of two records each in its partition 0."""
    topic = talk.topic(partitions, **configs)
    for number in range(batches):
        records = batch(b"a%d" % number, b"b%d" % number)
        talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, records))
    return topic


@story(FETCH)
def offsets(talk: Talk) -> None:
    topic = filled(talk)
    talk.ask("from the start", **fetch(topic, part(0)))
    talk.ask("within a batch", **fetch(topic, part(3)))
    talk.ask("at the end", **fetch(topic, part(6)))
    talk.ask("beyond the end", **fetch(topic, part(7)))
    talk.ask("offset -1", **fetch(topic, part(-1)))
    talk.ask("offset -2", **fetch(topic, part(-2)))
    talk.ask("largest offset", **fetch(topic, part(2**63 - 1)))
    talk.ask("committed records only", **fetch(topic, part(0), isolation_level=1))
    talk.attempt("isolation level 2", **fetch(topic, part(0), isolation_level=2))
    talk.ask("empty partition", **fetch(talk.topic(), part(0)))


@story(FETCH)
def bad_places(talk: Talk) -> None:
    topic = filled(talk, 1)
    talk.ask("unknown topic", **fetch((talk.name(), UNKNOWN_ID), part()))
    talk.ask("unknown partition", **fetch(topic, part(index=1)))
    talk.ask("partition -1", **fetch(topic, part(index=-1)))
    talk.ask("illegal topic name", **fetch(("no/name", UNKNOWN_ID), part()))
    talk.ask("empty name, zero id", **fetch(("", bytes(16)), part()))
    talk.ask("no topics", **fetch(topic, topics=[]))
    talk.ask("no partitions", **fetch(topic))
    talk.ask("good and bad ones", **fetch(topic, part(), part(index=7)))
    both = fetch(topic, part())["topics"] + fetch((talk.name(), UNKNOWN_ID), part())["topics"]
    talk.ask("a topic and an unknown one", **fetch(topic, topics=both))
    talk.ask("a partition twice", **fetch(topic, part(0), part(1)))
    talk.ask(
        "a replica that is none",
        **fetch(topic, part(), replica_id=7, replica_state={"replica_id": 7}),
    )
    itself = {"replica_id": 1, "replica_state": {"replica_id": 1, "replica_epoch": -1}}
    talk.ask("the leader as replica", **fetch(topic, part(), **itself))
    talk.ask(
        "debugging consumer",
        **fetch(topic, part(), replica_id=-2, replica_state={"replica_id": -2}),
    )
    if talk.version >= 12:
        talk.ask("another cluster", **fetch(topic, part(), cluster_id="AAAAAAAAAAAAAAAAAAAAAA"))


@story(FETCH)
def limits(talk: Talk) -> None:
    topic = filled(talk, 3, partitions=2)
    talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, batch(b"other"), partition=1))
    talk.ask("one byte of a partition", **fetch(topic, part(partition_max_bytes=1)))
    talk.ask("no bytes of a partition", **fetch(topic, part(partition_max_bytes=0)))
    talk.ask("negative bytes of a partition", **fetch(topic, part(partition_max_bytes=-1)))
    talk.ask("one byte in all", **fetch(topic, part(), part(index=1), max_bytes=1))
    talk.ask("no bytes in all", **fetch(topic, part(), part(index=1), max_bytes=0))
    talk.ask("one and a half batches", **fetch(topic, part(partition_max_bytes=120)))
    talk.ask("two batches", **fetch(topic, part(partition_max_bytes=160)))
    talk.ask("negative wait", **fetch(topic, part(6), max_wait_ms=-1, min_bytes=1))
    talk.ask(
        "waits for bytes that do not come", **fetch(topic, part(6), max_wait_ms=50, min_bytes=1)
    )
    talk.ask("more bytes than there are", **fetch(topic, part(), max_wait_ms=50, min_bytes=10_000))
    talk.ask("errors do not wait", **fetch(topic, part(99), max_wait_ms=10_000, min_bytes=1))


@story(FETCH)
def a_fetch_that_waits(talk: Talk) -> None:
    topic = talk.topic()
    waits = talk.send("waits", on="reader", **fetch(topic, part(), max_wait_ms=10_000, min_bytes=1))
    talk.ask("produce", ApiKey.PRODUCE, version=9, **produce(topic, batch(b"x")))
    waits.answer()


@story(FETCH, 9)
def leader_epochs(talk: Talk) -> None:
    topic = filled(talk)
    talk.ask("epoch 0", **fetch(topic, part(current_leader_epoch=0)))
    talk.ask("unknown epoch", **fetch(topic, part(current_leader_epoch=5)))
    talk.ask("epoch -2", **fetch(topic, part(current_leader_epoch=-2)))
    if talk.version >= 12:
        talk.ask("last fetched epoch 0", **fetch(topic, part(2, last_fetched_epoch=0)))
        talk.ask(
            "last fetched epoch 0 beyond the end", **fetch(topic, part(9, last_fetched_epoch=0))
        )
        talk.ask("last fetched epoch 3", **fetch(topic, part(2, last_fetched_epoch=3)))


@story(FETCH, 7)
def sessions(talk: Talk) -> None:
    topic, other = filled(talk), filled(talk, 1)
    first = talk.ask("new session", **fetch(topic, part(), session_id=0, session_epoch=0))
    session = first.session_id
    empty = fetch(topic, topics=[])
    talk.ask("next, nothing new", **empty, session_id=session, session_epoch=1)
    talk.ask("the same epoch again", **empty, session_id=session, session_epoch=1)
    talk.ask("an epoch too far", **empty, session_id=session, session_epoch=9)
    talk.ask("next, another topic", **fetch(other, part()), session_id=session, session_epoch=2)
    moved = fetch(topic, part(4))
    talk.ask("next, another offset", **moved, session_id=session, session_epoch=3)
    name, topic_id = other
    forgotten = [{"topic": name, "topic_id": topic_id, "partitions": [0]}]
    talk.ask(
        "next, forget a topic",
        **empty,
        session_id=session,
        session_epoch=4,
        forgotten_topics_data=forgotten,
    )
    talk.setup(ApiKey.PRODUCE, version=9, **produce(other, batch(b"x")))
    talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, batch(b"x")))
    talk.ask("next, after new records", **empty, session_id=session, session_epoch=5)
    talk.ask("unknown session", **empty, session_id=session + 1, session_epoch=1)
    talk.ask("session without id", **fetch(topic, part()), session_id=0, session_epoch=5)
    talk.ask("close it", **empty, session_id=session, session_epoch=-1)
    talk.ask("after it closed", **empty, session_id=session, session_epoch=6)
    talk.ask("no session", **fetch(topic, part()), session_id=0, session_epoch=-1)
    talk.ask("new session without topics", **empty, session_id=0, session_epoch=0)
    bad = fetch((talk.name(), UNKNOWN_ID), part())
    talk.ask("new session of an unknown topic", **bad, session_id=0, session_epoch=0)


@story(FETCH)
def every_codec(talk: Talk) -> None:
    topic = talk.topic()
    for codec in range(5):
        records = batch(b"x" * 60, codec=codec, time_ms=NOW_MS)
        talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, records))
    talk.ask("all of them", **fetch(topic, part()))
