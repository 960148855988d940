"""DeleteRecords: moves the start of a log."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.areas.fetch import filled
from tests.differential.areas.produce import produce, show_log
from tests.differential.batches import batch
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DELETE = ApiKey.DELETE_RECORDS


def before(topic: str, offset: int, partition: int = 0, **more: Any) -> Fields:
    parts = [{"partition_index": partition, "offset": offset}]
    return {"topics": [{"name": topic, "partitions": parts}], "timeout_ms": 10_000, **more}


@story(DELETE)
def offsets(talk: Talk) -> None:
    topic = filled(talk)
    talk.ask("offset 0", **before(topic.name, 0))
    talk.ask("within a batch", **before(topic.name, 3))
    talk.ask("the same again", **before(topic.name, 3))
    talk.ask("below the start", **before(topic.name, 1))
    talk.ask("beyond the end", **before(topic.name, 7))
    talk.ask("offset -2", **before(topic.name, -2))
    show_log(talk, topic, "fetch from 0")
    talk.ask("to the end", **before(topic.name, -1))
    talk.ask("to the end of an empty log", **before(talk.topic().name, -1))
    talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, batch(b"x")))
    talk.ask("produce afterwards", ApiKey.PRODUCE, version=9, **produce(topic, batch(b"y")))
    talk.ask("timeout 0", **before(topic.name, 7, timeout_ms=0))


@story(DELETE)
def bad_places(talk: Talk) -> None:
    topic = filled(talk, 1).name
    talk.ask("unknown topic", **before(talk.name(), 0))
    talk.ask("unknown partition", **before(topic, 0, 1))
    talk.ask("partition -1", **before(topic, 0, -1))
    talk.ask("illegal topic name", **before("no/name", 0))
    talk.ask("no topics", topics=[], timeout_ms=10_000)
    talk.ask("no partitions", topics=[{"name": topic, "partitions": []}], timeout_ms=10_000)
    part = {"partition_index": 0, "offset": 1}
    bad = {"partition_index": 4, "offset": 1}
    talk.ask(
        "good and bad ones", topics=[{"name": topic, "partitions": [part, bad]}], timeout_ms=10_000
    )
    compacted = filled(talk, 1, cleanup_policy="compact").name
    talk.ask("a compacted topic", **before(compacted, 1))
    both = filled(talk, 1, cleanup_policy="compact,delete").name
    talk.ask("a topic that is compacted and deleted", **before(both, 1))
