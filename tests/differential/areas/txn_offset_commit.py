"""TxnOffsetCommit: who may commit in a transaction, and what others see of it meanwhile."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import new_group
from tests.differential.producers import Producer, end, new_producer
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

COMMIT = ApiKey.TXN_OFFSET_COMMIT
_NOT_ADDING = 4
"""The last version in which the client adds the group to its transaction."""


def commit(producer: Producer, group: str, topic: str, offset: int = 5, **more: Any) -> Fields:
    part = {
        "partition_index": more.pop("partition", 0),
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": more.pop("metadata", "m"),
    }
    return {
        **producer.fields,
        "group_id": group,
        "topics": [{"name": topic, "partitions": [part]}],
        **more,
    }


def with_group(talk: Talk) -> tuple[Producer, str]:
    """A producer whose transaction has a group, if its client has to see to that."""
    producer, group = new_producer(talk), new_group(talk)
    add_group(talk, producer, group)
    return producer, group


def add_group(talk: Talk, producer: Producer, group: str) -> None:
    if talk.version <= _NOT_ADDING:
        talk.setup(
            ApiKey.ADD_OFFSETS_TO_TXN, version=3, group_id=group, **producer.fields,
            until=lambda response: response.error_code == 0,
        )  # fmt: skip


def show(talk: Talk, group: str, topic: Topic, step: str) -> None:
    for stable in (True, False):
        talk.ask(
            f"{step}, stable {stable}", ApiKey.OFFSET_FETCH, version=7, group_id=group,
            topics=[{"name": topic.name, "partition_indexes": [0]}], require_stable=stable,
        )  # fmt: skip


@story(COMMIT)
def of_a_transaction(talk: Talk) -> None:
    for commits in (True, False):
        topic = talk.topic()
        producer, group = with_group(talk)
        talk.ask(f"offset 5, {commits}", **commit(producer, group, topic.name))
        show(talk, group, topic, f"pending, {commits}")
        talk.ask(f"offset 6, {commits}", **commit(producer, group, topic.name, 6))
        version = 4 if talk.version <= _NOT_ADDING else 5
        end(talk, producer, commit=commits, version=version)
        show(talk, group, topic, f"ended, {commits}")


@story(COMMIT)
def bad_places(talk: Talk) -> None:
    topic = talk.topic()
    producer, group = with_group(talk)
    talk.ask("unknown topic", **commit(producer, group, talk.name()))
    talk.ask("unknown partition", **commit(producer, group, topic.name, partition=3))
    talk.ask("long metadata", **commit(producer, group, topic.name, metadata="m" * 5000))
    talk.ask("empty group id", **commit(producer, "", topic.name))
    talk.ask("no topics", **{**commit(producer, group, topic.name), "topics": []})


@story(COMMIT)
def bad_producers(talk: Talk) -> None:
    topic = talk.topic()
    producer, group = with_group(talk)
    talk.ask("an older epoch", **commit(producer.with_epoch(-1), group, topic.name))
    other = producer._replace(producer_id=producer.producer_id + 10_000_000)
    talk.ask("another producer id", **commit(other, group, topic.name))
    unknown = producer._replace(transactional_id=talk.name("nobody"))
    talk.ask("an unknown transactional id", **commit(unknown, group, topic.name))


@story(COMMIT)
def members(talk: Talk) -> None:
    if talk.version < 3:
        return  # members are named since then
    topic = talk.topic()
    producer, group = with_group(talk)
    unknown: Fields = {"generation_id": 3, "member_id": "m"}
    talk.ask("a member of no group", **commit(producer, group, topic.name, **unknown))
    talk.ask("nobody", **commit(producer, group, topic.name))
    talk.ask("a member of an empty group", **commit(producer, group, topic.name, **unknown))
