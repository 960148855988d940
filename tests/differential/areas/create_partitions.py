"""CreatePartitions: topics only grow."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

CREATE = ApiKey.CREATE_PARTITIONS


def grown(name: str, count: int, assigned: list[list[int]] | None = None) -> Fields:
    brokers = None if assigned is None else [{"broker_ids": ids} for ids in assigned]
    topic = {"name": name, "count": count, "assignments": brokers}
    return {"topics": [topic], "timeout_ms": 30_000}


@story(CREATE)
def counts(talk: Talk) -> None:
    topic = talk.topic(2).name
    talk.ask("fewer", **grown(topic, 1))
    talk.ask("as many", **grown(topic, 2))
    talk.ask("none", **grown(topic, 0))
    talk.ask("negative", **grown(topic, -1))
    talk.ask("unknown topic", **grown(talk.name(), 3))
    talk.ask(
        "illegal and empty name",
        topics=grown("no/name", 3)["topics"] + grown("", 3)["topics"],
        timeout_ms=30_000,
    )
    talk.ask("only validated", **grown(topic, 3), validate_only=True)
    talk.ask("more", **grown(topic, 3))
    talk.await_partitions(topic, 3)
    talk.ask("metadata", ApiKey.METADATA, version=9, topics=[{"name": topic}])
    one = grown(topic, 4)["topics"][0]
    talk.ask("a topic twice", topics=[one, one], timeout_ms=30_000)
    talk.ask("no topics", topics=[], timeout_ms=30_000)


@story(CREATE)
def assignments(talk: Talk) -> None:
    topic = talk.topic().name
    talk.ask("too few", **grown(topic, 3, [[1]]))
    talk.ask("too many", **grown(topic, 2, [[1], [1]]))
    talk.ask("none", **grown(topic, 2, []))
    talk.ask("unknown broker", **grown(topic, 2, [[9]]))
    talk.ask("a broker twice", **grown(topic, 2, [[1, 1]]))
    talk.ask("no brokers", **grown(topic, 2, [[]]))
    talk.ask("more replicas than before", **grown(topic, 2, [[1, 2]]))
    talk.ask("good", **grown(topic, 2, [[1]]))
