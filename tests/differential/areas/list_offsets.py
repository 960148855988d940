"""ListOffsets: by time, and by the special times."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.areas.produce import produce
from tests.differential.batches import batch
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

LIST = ApiKey.LIST_OFFSETS
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
T0 = 1_700_000_000_000


def wanted(name: str, timestamp: int, partition: int = 0, **more: Any) -> Fields:
    part = {"partition_index": partition, "timestamp": timestamp}
    if "current_leader_epoch" in more:
        part["current_leader_epoch"] = more.pop("current_leader_epoch")
    fields = {"replica_id": -1, "timeout_ms": 10_000}
    return {**fields, "topics": [{"name": name, "partitions": [part]}], **more}


def filled(talk: Talk, **configs: str) -> Topic:
    topic = talk.topic(**configs)
    for time_ms in (T0, T0 + 100, T0 + 50):
        records = batch(b"a", b"b", time_ms=time_ms)
        talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, records))
    return topic


@story(LIST)
def times(talk: Talk) -> None:
    topic = filled(talk).name
    talk.ask("latest", **wanted(topic, LATEST))
    talk.ask("earliest", **wanted(topic, EARLIEST))
    talk.ask("largest timestamp", **wanted(topic, MAX_TIMESTAMP))
    talk.ask("earliest local", **wanted(topic, EARLIEST_LOCAL))
    talk.ask("latest tiered", **wanted(topic, LATEST_TIERED))
    talk.ask("earliest pending upload", **wanted(topic, EARLIEST_PENDING))
    for special in (-7, -100, -(2**63)):
        talk.attempt(f"timestamp {special}", **wanted(topic, special))
    for time_ms in (0, T0 - 1, T0, T0 + 1, T0 + 50, T0 + 51, T0 + 100, T0 + 101, 2**63 - 1):
        talk.ask(f"timestamp {time_ms}", **wanted(topic, time_ms))
    if talk.version >= 2:
        talk.ask("latest, committed only", **wanted(topic, LATEST), isolation_level=1)
        talk.ask("by time, committed only", **wanted(topic, T0), isolation_level=1)
        talk.attempt("isolation level 2", **wanted(topic, LATEST), isolation_level=2)


@story(LIST)
def of_an_empty_partition(talk: Talk) -> None:
    topic = talk.topic().name
    for time_ms in (LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, 0, T0):
        talk.ask(f"timestamp {time_ms}", **wanted(topic, time_ms))


@story(LIST)
def after_records_were_deleted(talk: Talk) -> None:
    topic = filled(talk).name
    parts = [{"partition_index": 0, "offset": 3}]
    topics = [{"name": topic, "partitions": parts}]
    talk.setup(ApiKey.DELETE_RECORDS, version=1, topics=topics, timeout_ms=10_000)
    for time_ms in (LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, 0, T0, T0 + 50, T0 + 100):
        talk.ask(f"timestamp {time_ms}", **wanted(topic, time_ms))


@story(LIST)
def bad_places(talk: Talk) -> None:
    topic = filled(talk).name
    talk.ask("unknown topic", **wanted(talk.name(), LATEST))
    talk.ask("unknown partition", **wanted(topic, LATEST, 1))
    talk.ask("partition -1", **wanted(topic, LATEST, -1))
    talk.ask("illegal topic name", **wanted("no/name", LATEST))
    talk.ask("empty topic name", **wanted("", LATEST))
    talk.ask("no topics", replica_id=-1, topics=[])
    talk.ask("no partitions", replica_id=-1, topics=[{"name": topic, "partitions": []}])
    part = {"partition_index": 0, "timestamp": LATEST}
    talk.ask(
        "a partition twice", replica_id=-1, topics=[{"name": topic, "partitions": [part, part]}]
    )
    same = {"name": topic, "partitions": [part]}
    talk.ask("a topic twice", replica_id=-1, topics=[same, same])
    talk.ask("a replica that is none", **wanted(topic, LATEST, replica_id=7))
    talk.ask("debugging consumer", **wanted(topic, LATEST, replica_id=-2))
    if talk.version >= 4:
        talk.ask("epoch 0", **wanted(topic, LATEST, current_leader_epoch=0))
        talk.ask("unknown epoch", **wanted(topic, LATEST, current_leader_epoch=5))
        talk.ask("epoch -2", **wanted(topic, LATEST, current_leader_epoch=-2))


@story(LIST)
def compressed_and_stamped_by_the_broker(talk: Talk) -> None:
    topic = talk.topic()
    for number, codec in enumerate((1, 3, 4)):
        records = batch(b"a", b"b", time_ms=T0 + 10 * number, codec=codec)
        talk.setup(ApiKey.PRODUCE, version=9, **produce(topic, records))
    for time_ms in (T0 + 5, T0 + 10, T0 + 20, MAX_TIMESTAMP):
        talk.ask(f"compressed, timestamp {time_ms}", **wanted(topic.name, time_ms))
