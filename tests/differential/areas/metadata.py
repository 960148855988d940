"""Metadata: brokers, topics by name or id, and partitions."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Talk

METADATA = ApiKey.METADATA


def own(talk: Talk, step: str, **fields: Any) -> None:
    """Topics of other stories are left out of what is compared."""
    response = talk.ask(step, **fields)
    response["topics"] = [each for each in response.topics if each.name.startswith(talk.label)]


@story(METADATA)
def by_name(talk: Talk) -> None:
    topic, other = talk.topic(2), talk.topic()
    talk.ask("one topic", topics=[{"name": topic.name}])
    talk.ask("two topics", topics=[{"name": topic.name}, {"name": other.name}])
    talk.ask("one topic twice", topics=[{"name": topic.name}, {"name": topic.name}])
    talk.ask("unknown topic", topics=[{"name": talk.name()}])
    talk.ask("illegal names", topics=[{"name": "no/name"}, {"name": "."}, {"name": ".."}])
    talk.ask("empty name", topics=[{"name": ""}])
    talk.ask("name of 250 characters", topics=[{"name": "x" * 250}])
    quiet = {"allow_auto_topic_creation": False}
    talk.ask("unknown topic, not to be made", topics=[{"name": talk.name()}], **quiet)
    if talk.version >= 8:
        wanted = {"include_topic_authorized_operations": True}
        talk.ask("operations on the topic", topics=[{"name": topic.name}], **wanted)
        talk.ask("operations on an unknown topic", topics=[{"name": talk.name()}], **wanted)
        talk.ask("operations on an illegal name", topics=[{"name": "no/name"}], **wanted)
    if 8 <= talk.version <= 10:
        wanted = {"include_cluster_authorized_operations": True}
        talk.ask("operations on the cluster", topics=[], **wanted)


@story(METADATA)
def all_topics(talk: Talk) -> None:
    talk.topic()
    own(talk, "empty array", topics=[])
    if talk.version >= 1:
        own(talk, "null array", topics=None)


@story(METADATA, 10)
def by_id(talk: Talk) -> None:
    topic = talk.topic(2)
    unknown = bytes(range(1, 17))
    talk.attempt("known id", topics=[{"topic_id": topic.id, "name": None}])
    talk.attempt("unknown id", topics=[{"topic_id": unknown, "name": None}])
    talk.attempt(
        "known and unknown id",
        topics=[{"topic_id": topic.id, "name": None}, {"topic_id": unknown, "name": None}],
    )
    talk.attempt("id and name", topics=[{"topic_id": topic.id, "name": topic.name}])
    talk.attempt("neither id nor name", topics=[{"topic_id": bytes(16), "name": None}])
    talk.attempt(
        "one by id, one by name",
        topics=[{"topic_id": topic.id, "name": None}, {"topic_id": bytes(16), "name": topic.name}],
    )


@story(METADATA, 4)
def after_a_topic_was_deleted(talk: Talk) -> None:
    topic = talk.topic()
    talk.setup(ApiKey.DELETE_TOPICS, version=4, topic_names=[topic.name], timeout_ms=10_000)
    talk.until_gone(topic.name)
    talk.ask("by name", topics=[{"name": topic.name}])
    if talk.version >= 12:
        talk.ask("by id", topics=[{"topic_id": topic.id, "name": None}])
