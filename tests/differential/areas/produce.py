"""Produce: what is stored at which offset, and what is refused with which error."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.batches import CODECS, NOW_MS, batch, broken_batches, numbered
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

PRODUCE = ApiKey.PRODUCE
UNKNOWN_ID = bytes(range(1, 17))


def produce(
    topic: tuple[str, bytes], records: bytes | None, *, partition: int = 0, **more: Any
) -> Fields:
    """The fields of a request with one partition."""
    name, topic_id = topic
    parts = [{"index": partition, "records": records}]
    return {
        "acks": -1,
        "timeout_ms": 10_000,
        "topic_data": [{"name": name, "topic_id": topic_id, "partition_data": parts}],
        **more,
    }


def show_log(talk: Talk, topic: Topic, step: str = "what the log has") -> None:
    """A fetch of everything, in one version, so that what was stored is compared too."""
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    talk.ask(
        step, ApiKey.FETCH, version=12, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20,
        topics=[{"topic": topic.name, "partitions": [part]}],
    )  # fmt: skip


@story(PRODUCE)
def good_records(talk: Talk) -> None:
    topic = talk.topic(2)
    talk.ask("one record", **produce(topic, batch(b"one")))
    talk.ask("three records", **produce(topic, batch(b"a", b"b", b"c")))
    talk.ask("null key and null value", **produce(topic, batch(None, keys=[None])))
    talk.ask("empty key and value", **produce(topic, batch(b"", keys=[b""])))
    headers = ((b"h", b"1"), (b"h", None), ("ü".encode(), b""))
    talk.ask("headers", **produce(topic, batch(b"x", headers=headers)))
    talk.ask("acks=1", **produce(topic, batch(b"x"), acks=1))
    talk.expect_silence("acks=0", **produce(topic, batch(b"silent"), acks=0))
    talk.ask("after acks=0", **produce(topic, batch(b"x"), partition=1))
    talk.ask("timeout 0", **produce(topic, batch(b"x"), timeout_ms=0))
    talk.ask("negative timeout", **produce(topic, batch(b"x"), timeout_ms=-1))
    show_log(talk, topic)


@story(PRODUCE)
def every_codec(talk: Talk) -> None:
    topic = talk.topic()
    for name, codec in CODECS.items():
        talk.ask(name, **produce(topic, batch(b"a" * 100, b"b" * 100, codec=codec)))
    show_log(talk, topic)


@story(PRODUCE)
def bad_places(talk: Talk) -> None:
    topic = talk.topic()
    records = batch(b"x")
    talk.ask("unknown topic", **produce((talk.name(), UNKNOWN_ID), records))
    talk.ask("unknown partition", **produce(topic, records, partition=1))
    talk.ask("partition -1", **produce(topic, records, partition=-1))
    talk.ask("illegal topic name", **produce(("no/name", UNKNOWN_ID), records))
    talk.ask("empty topic name, zero id", **produce(("", bytes(16)), records))
    talk.ask("no topics", **produce(topic, records, topic_data=[]))
    empty = [{"name": topic.name, "topic_id": topic.id, "partition_data": []}]
    talk.ask("no partitions", **produce(topic, records, topic_data=empty))
    talk.ask("the log of the metadata", **produce(("__cluster_metadata", UNKNOWN_ID), records))
    talk.ask("acks=2", **produce(topic, records, acks=2))
    talk.ask("acks=-2", **produce(topic, records, acks=-2))
    talk.attempt("unknown topic, acks=1", **produce((talk.name(), UNKNOWN_ID), records, acks=1))
    show_log(talk, topic)


@story(PRODUCE)
def errors_without_acks(talk: Talk) -> None:
    """With acks=0 there is no response, so an error ends the connection."""
    talk.expect_silence("unknown topic", **produce((talk.name(), UNKNOWN_ID), batch(b"x"), acks=0))
    topic = talk.topic()
    talk.expect_silence("wrong CRC", **produce(topic, broken_batches()["wrong CRC"], acks=0))


@story(PRODUCE)
def several_partitions(talk: Talk) -> None:
    topic, other = talk.topic(2), talk.topic()
    known = {"name": topic.name, "topic_id": topic.id}
    parts = [
        {"index": 0, "records": batch(b"x")},
        {"index": 1, "records": broken_batches()["wrong CRC"]},
        {"index": 7, "records": batch(b"x")},
    ]
    mixed = [
        {**known, "partition_data": parts},
        {"name": other.name, "topic_id": other.id, "partition_data": parts[:1]},
        {"name": talk.name(), "topic_id": UNKNOWN_ID, "partition_data": parts[:1]},
    ]
    talk.ask("good and bad ones", acks=-1, timeout_ms=10_000, topic_data=mixed)
    twice = [{"index": 0, "records": batch(b"first")}, {"index": 0, "records": batch(b"second")}]
    doubled = [{**known, "partition_data": twice}]
    talk.attempt("a partition twice", acks=-1, timeout_ms=10_000, topic_data=doubled)
    one = {**known, "partition_data": parts[:1]}
    talk.attempt("a topic twice", acks=-1, timeout_ms=10_000, topic_data=[one, one])
    show_log(talk, topic)


@story(PRODUCE)
def broken_records(talk: Talk) -> None:
    topic = talk.topic()
    for what, records in broken_batches().items():
        talk.attempt(what, **produce(topic, records))
    talk.attempt("two batches", **produce(topic, batch(b"one") + batch(b"two")))
    show_log(talk, topic)


@story(PRODUCE, 12)
def null_records(talk: Talk) -> None:
    """Kafka never answers them, so this takes a while in every version."""
    talk.attempt("null records", **produce(talk.topic(), None), patience_s=2.0)


@story(PRODUCE)
def timestamps(talk: Talk) -> None:
    topic = talk.topic()
    hour = 3_600_000
    talk.ask("none", **produce(topic, batch(b"x", time_ms=-1)))
    talk.ask("zero", **produce(topic, batch(b"x", time_ms=0)))
    talk.ask("a day ago", **produce(topic, batch(b"x", time_ms=NOW_MS - 24 * hour)))
    talk.ask("in two hours", **produce(topic, batch(b"x", time_ms=NOW_MS + 2 * hour)))
    talk.ask("in a hundred years", **produce(topic, batch(b"x", time_ms=NOW_MS + 876_000 * hour)))
    two: Fields = {"base_timestamp": NOW_MS, "max_timestamp": NOW_MS + 5}
    talk.ask("another maximum in the header", **produce(topic, batch(b"x", **two)))
    show_log(talk, topic)
    bounded = talk.topic(
        message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000"
    )
    talk.ask("too old", **produce(bounded, batch(b"x", b"y", time_ms=NOW_MS - hour)))
    talk.ask("too new", **produce(bounded, batch(b"x", time_ms=NOW_MS + hour)))
    talk.ask("none where it is bounded", **produce(bounded, batch(b"x", time_ms=-1)))
    stamped = talk.topic(message_timestamp_type="LogAppendTime")
    talk.ask("log append time", **produce(stamped, batch(b"x", time_ms=5)))
    talk.ask("log append time, compressed", **produce(stamped, batch(b"x", time_ms=5, codec=3)))
    talk.ask("log append time in the request", **produce(topic, batch(b"x", attributes=8)))


@story(PRODUCE)
def sizes(talk: Talk) -> None:
    topic = talk.topic(max_message_bytes="1000")
    talk.ask("small enough", **produce(topic, batch(b"x" * 900)))
    talk.ask("too large", **produce(topic, batch(b"x" * 1100)))
    talk.ask("two that are small enough each", **produce(topic, batch(b"x" * 400, b"x" * 400)))
    talk.ask("two that are too large together", **produce(topic, batch(b"x" * 600, b"x" * 600)))
    big = batch(b"x" * 10_000, codec=CODECS["lz4"])
    talk.ask("large before compression", **produce(topic, big))
    plain = talk.topic()
    talk.ask("1 MiB and some", **produce(plain, batch(b"x" * ((1 << 20) + 100))))
    show_log(talk, topic)


@story(PRODUCE)
def compacted_topics(talk: Talk) -> None:
    topic = talk.topic(cleanup_policy="compact")
    talk.ask("with a key", **produce(topic, batch(b"x")))
    talk.ask("without keys", **produce(topic, batch(b"x", b"y", keys=[None, None])))
    talk.ask("one of two without a key", **produce(topic, batch(b"x", b"y", keys=[b"k", None])))
    talk.ask("empty key", **produce(topic, batch(b"x", keys=[b""])))
    show_log(talk, topic)


@story(PRODUCE)
def topics_with_a_codec(talk: Talk) -> None:
    for codec in ("uncompressed", "gzip", "lz4"):
        topic = talk.topic(compression_type=codec)
        talk.ask(f"plain records to {codec}", **produce(topic, batch(b"x" * 50)))
        talk.ask(f"zstd records to {codec}", **produce(topic, batch(b"x" * 50, codec=4)))
        show_log(talk, topic, f"what {codec} made of it")


@story(PRODUCE)
def idempotent_producers(talk: Talk) -> None:
    topic = talk.topic()
    given = talk.setup(
        ApiKey.INIT_PRODUCER_ID, transaction_timeout_ms=60_000, transactional_id=None
    )
    me = (given.producer_id, given.producer_epoch)
    talk.ask("sequence 0", **produce(topic, numbered(me, 0, b"a", b"b")))
    talk.ask("the same again", **produce(topic, numbered(me, 0, b"a", b"b")))
    talk.ask("a gap", **produce(topic, numbered(me, 3)))
    talk.ask("the next", **produce(topic, numbered(me, 2)))
    talk.ask("an overlap", **produce(topic, numbered(me, 1, b"x", b"y", b"z")))
    talk.ask("the first again, shorter", **produce(topic, numbered(me, 0, b"a")))
    for sequence in range(3, 9):
        talk.ask(f"sequence {sequence}", **produce(topic, numbered(me, sequence)))
    talk.ask("older than the last five", **produce(topic, numbered(me, 0, b"a", b"b")))
    talk.ask("one of the last five", **produce(topic, numbered(me, 5)))
    newer, older = (me[0], me[1] + 1), (me[0], me[1])
    talk.ask("a newer epoch, sequence 5", **produce(topic, numbered(newer, 5)))
    talk.ask("a newer epoch, sequence 0", **produce(topic, numbered(newer, 0)))
    talk.ask("the older epoch", **produce(topic, numbered(older, 9)))
    unknown = (me[0] + 1_000_000, 0)
    talk.ask("an unknown producer, sequence 7", **produce(topic, numbered(unknown, 7)))
    talk.ask("an unknown producer, epoch 3", **produce(topic, numbered((me[0] + 2_000_000, 3), 0)))
    two = numbered(newer, 1) + numbered(newer, 2)
    talk.attempt("two batches", **produce(topic, two))
    show_log(talk, topic)


@story(PRODUCE)
def sequences_that_wrap(talk: Talk) -> None:
    topic = talk.topic()
    given = talk.setup(
        ApiKey.INIT_PRODUCER_ID, transaction_timeout_ms=60_000, transactional_id=None
    )
    me = (given.producer_id, given.producer_epoch)
    last = 2**31 - 1
    talk.ask("the last sequence first", **produce(topic, numbered(me, last - 1, b"a")))
    talk.ask("up to the last", **produce(topic, numbered(me, last, b"a", b"b")))
    talk.ask("wrapped", **produce(topic, numbered(me, 1)))


@story(PRODUCE)
def transactional_records_outside_a_transaction(talk: Talk) -> None:
    topic = talk.topic()
    given = talk.setup(
        ApiKey.INIT_PRODUCER_ID, transaction_timeout_ms=60_000, transactional_id=None
    )
    me = (given.producer_id, given.producer_epoch)
    records = numbered(me, 0, attributes=0x10)
    talk.attempt("transactional batch, no transactional id", **produce(topic, records))
    talk.attempt(
        "transactional id, plain batch", **produce(topic, batch(b"x"), transactional_id="t")
    )
