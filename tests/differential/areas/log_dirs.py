"""DescribeLogDirs and AlterReplicaLogDirs."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.areas.fetch import filled
from tests.differential.script import story
from tests.differential.talk import Fields, Talk


def own(talk: Talk, step: str, **fields: Any) -> None:
    """Topics of other stories are left out of what is compared."""
    for result in talk.ask(step, **fields).results:
        result["topics"] = [each for each in result.topics if each.name.startswith(talk.label)]


@story(ApiKey.DESCRIBE_LOG_DIRS)
def sizes(talk: Talk) -> None:
    topic = filled(talk, 2, partitions=2).name
    talk.ask("one topic", topics=[{"topic": topic, "partitions": [0, 1]}])
    own(talk, "every topic", topics=None)
    talk.ask("no topics", topics=[])
    talk.ask("unknown topic", topics=[{"topic": talk.name(), "partitions": [0]}])
    talk.ask("unknown partition", topics=[{"topic": topic, "partitions": [7, -1]}])
    talk.ask("no partitions", topics=[{"topic": topic, "partitions": []}])
    talk.ask("a partition twice", topics=[{"topic": topic, "partitions": [0, 0]}])


@story(ApiKey.ALTER_REPLICA_LOG_DIRS)
def moves(talk: Talk) -> None:
    topic = talk.topic().name

    def to(path: str, name: str, *partitions: int) -> Fields:
        return {
            "dirs": [{"path": path, "topics": [{"name": name, "partitions": list(partitions)}]}]
        }

    found = talk.setup(ApiKey.DESCRIBE_LOG_DIRS, version=3, topics=[])
    here = found.results[0].log_dir
    talk.ask("where it is", **to(here, topic, 0))
    talk.ask("a directory that is none of the broker's", **to("/no/such/directory", topic, 0))
    talk.ask("a relative path", **to("logs", topic, 0))
    talk.ask("empty path", **to("", topic, 0))
    talk.ask("unknown topic", **to(here, talk.name(), 0))
    talk.ask("unknown partition", **to(here, topic, 7))
    talk.ask("partition -1", **to(here, topic, -1))
    talk.ask("no directories", dirs=[])
    talk.ask("no partitions", **to(here, topic))
