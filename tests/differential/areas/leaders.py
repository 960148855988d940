"""ElectLeaders and reassignments, as far as one broker goes."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

PREFERRED, UNCLEAN = 0, 1


@story(ApiKey.ELECT_LEADERS)
def elections(talk: Talk) -> None:
    topic = talk.topic(2).name

    def of(name: str, *partitions: int, **more: Any) -> Fields:
        listed = [{"topic": name, "partitions": list(partitions)}]
        return {"topic_partitions": listed, "timeout_ms": 30_000, **more}

    talk.ask("preferred, nothing to do", **of(topic, 0, 1))
    talk.ask("unclean, nothing to do", **of(topic, 0), election_type=UNCLEAN)
    talk.attempt("a kind that is none", **of(topic, 0), election_type=7)
    talk.ask("unknown topic", **of(talk.name(), 0))
    talk.ask("unknown and negative partition", **of(topic, 7, -1))
    talk.ask("no partitions", **of(topic))
    talk.ask("no topics", topic_partitions=[], timeout_ms=30_000)
    talk.ask("a partition twice", **of(topic, 0, 0))
    talk.ask("illegal name", **of("no/name", 0))
    answer = talk.ask("all partitions", topic_partitions=None, timeout_ms=30_000)
    answer["replica_election_results"] = [
        each for each in answer.replica_election_results if each.topic.startswith(talk.label)
    ]


@story(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def reassignments(talk: Talk) -> None:
    topic = talk.topic(2).name

    def to(name: str, partition: int, replicas: list[int] | None) -> Fields:
        parts = [{"partition_index": partition, "replicas": replicas}]
        return {"topics": [{"name": name, "partitions": parts}], "timeout_ms": 30_000}

    talk.ask("where it is", **to(topic, 0, [1]))
    talk.ask("unknown broker", **to(topic, 0, [9]))
    talk.ask("a broker twice", **to(topic, 0, [1, 1]))
    talk.ask("no brokers", **to(topic, 0, []))
    talk.ask("negative broker", **to(topic, 0, [-1]))
    talk.ask("more replicas", **to(topic, 0, [1, 9]))
    talk.ask("cancel what is not there", **to(topic, 0, None))
    talk.ask("unknown topic", **to(talk.name(), 0, [1]))
    talk.ask("unknown partition", **to(topic, 7, [1]))
    talk.ask("no topics", topics=[], timeout_ms=30_000)
    talk.ask("no partitions", topics=[{"name": topic, "partitions": []}], timeout_ms=30_000)
    if talk.version >= 1:
        fixed = {"allow_replication_factor_change": False}
        talk.ask("another count, not allowed", **to(topic, 0, [1, 9]), **fixed)


@story(ApiKey.LIST_PARTITION_REASSIGNMENTS)
def reassignments_under_way(talk: Talk) -> None:
    topic = talk.topic().name

    def of(name: str, *partitions: int) -> Fields:
        listed = [{"name": name, "partition_indexes": list(partitions)}]
        return {"topics": listed, "timeout_ms": 30_000}

    talk.ask("all", topics=None, timeout_ms=30_000)
    talk.ask("one partition", **of(topic, 0))
    talk.ask("unknown partition", **of(topic, 7))
    talk.ask("unknown topic", **of(talk.name(), 0))
    talk.ask("no topics", topics=[], timeout_ms=30_000)
