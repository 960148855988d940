"""DeleteTopics: by name (versions 1 to 5), by name or id (6)."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DELETE = ApiKey.DELETE_TOPICS


def named(*names: str, **more: Any) -> Fields:
    return {
        "topic_names": list(names),
        "topics": [{"name": name} for name in names],
        "timeout_ms": 30_000,
        **more,
    }


@story(DELETE)
def by_name(talk: Talk) -> None:
    topic, other = talk.topic(), talk.topic()
    talk.ask("no topics", **named())
    talk.ask("unknown topic", **named(talk.name()))
    talk.ask("illegal and empty name", **named("no/name", ""))
    talk.ask("twice in one request", **named(other.name, other.name))
    talk.ask("a topic and an unknown one", **named(topic.name, talk.name()))
    talk.ask("again", **named(topic.name))
    talk.ask("timeout 0", **named(talk.topic().name, timeout_ms=0))
    talk.ask("the metadata log", **named("__cluster_metadata"))


@story(DELETE, 6)
def by_id(talk: Talk) -> None:
    topic, other, third = talk.topic(), talk.topic(), talk.topic()
    unknown = bytes(range(1, 17))
    talk.ask("unknown id", topics=[{"topic_id": unknown}], timeout_ms=30_000)
    talk.ask("neither id nor name", topics=[{}], timeout_ms=30_000)
    talk.ask("id and name", topics=[{"name": topic.name, "topic_id": topic.id}], timeout_ms=30_000)
    talk.ask("id and another name", topics=[{"name": "x", "topic_id": topic.id}], timeout_ms=30_000)
    both = [{"name": other.name}, {"topic_id": other.id}]
    talk.ask("the same by name and by id", topics=both, timeout_ms=30_000)
    talk.ask("by id", topics=[{"topic_id": topic.id}], timeout_ms=30_000)
    talk.ask("by id again", topics=[{"topic_id": topic.id}], timeout_ms=30_000)
    twice = [{"topic_id": third.id}, {"topic_id": third.id}]
    talk.ask("by id, twice in one request", topics=twice, timeout_ms=30_000)


@story(DELETE)
def a_name_is_used_again(talk: Talk) -> None:
    """A topic that is made again under the same name is another topic."""
    topic = talk.topic()
    talk.ask("delete", **named(topic.name))
    made = {"name": topic.name, "num_partitions": 1, "replication_factor": 1}
    talk.setup(
        ApiKey.CREATE_TOPICS, topics=[made], timeout_ms=30_000,
        until=lambda response: response.topics[0].error_code == 0,
    )  # fmt: skip
    talk.await_partitions(topic.name, 1)
    wanted = [{"partition_index": 0, "timestamp": -1}]
    talk.ask(
        "its end", ApiKey.LIST_OFFSETS, version=5,
        replica_id=-1, topics=[{"name": topic.name, "partitions": wanted}],
    )  # fmt: skip
