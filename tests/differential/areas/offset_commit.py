"""OffsetCommit: who may commit to which group, and what."""

from __future__ import annotations

import time
from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import (
    begun,
    commit,
    consumer,
    disturbed,
    join,
    left,
    new_group,
    settled,
)
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

COMMIT = ApiKey.OFFSET_COMMIT


def show(talk: Talk, group: str) -> None:
    talk.ask("what is committed", ApiKey.OFFSET_FETCH, version=7, group_id=group, topics=None)


@story(COMMIT)
def without_members(talk: Talk) -> None:
    """Simple consumers commit with generation -1 and make the group by it."""
    topic, group = talk.topic(2), new_group(talk)
    talk.ask("empty group id", **commit("", topic))
    talk.ask("generation 0 to an unknown group", **commit(group, topic, generation=0))
    talk.ask(
        "generation 5 to an unknown group", **commit(group, topic, generation=5, member_id="m")
    )
    talk.ask("member id to an unknown group, generation -1", **commit(group, topic, member_id="m"))
    group = new_group(talk)
    talk.ask("instance id to an unknown group", **commit(group, topic, group_instance_id="i"))
    group = new_group(talk)
    talk.ask("no topics", **{**commit(group, topic), "topics": []})
    talk.ask("simple commit", **commit(group, topic))
    talk.ask("generation 0 to an empty group", **commit(group, topic, generation=0))
    talk.ask("generation 1 to an empty group", **commit(group, topic, generation=1, member_id="m"))
    talk.ask("generation -2", **commit(group, topic, generation=-2))
    talk.ask("member id to an empty group, generation -1", **commit(group, topic, member_id="m"))
    talk.ask("retention time", **commit(group, topic, retention_time_ms=1000))
    show(talk, group)


@story(COMMIT)
def bad_partitions(talk: Talk) -> None:
    topic, group = talk.topic(2), new_group(talk)
    talk.ask("partition -1", **commit(group, topic, partition=-1))
    talk.ask("partition that is not there", **commit(group, topic, partition=2))
    unknown = (talk.name(), bytes(range(16)))
    talk.ask("unknown topic", **commit(group, unknown))
    talk.ask("zero topic id, empty name", **commit(group, ("", bytes(16))))
    talk.ask("name that is not legal", **commit(group, ("no/name", bytes(range(1, 17)))))
    talk.ask("offset -1", **commit(group, topic, offset=-1))
    talk.ask("offset -2", **commit(group, topic, offset=-2))
    talk.ask("largest offset", **commit(group, topic, offset=2**63 - 1))
    talk.ask("null metadata", **commit(group, topic, metadata=None))
    talk.ask("metadata of 4096 bytes", **commit(group, topic, metadata="m" * 4096))
    talk.ask("metadata of 4097 bytes", **commit(group, topic, metadata="m" * 4097))
    talk.ask(
        "metadata of 4098 bytes in 2049 characters",
        **commit(group, topic, metadata="\u00fc" * 2049),
    )
    show(talk, group)


def partition(index: int, offset: int, **more: Any) -> Fields:
    return {"partition_index": index, "committed_offset": offset, "committed_metadata": "", **more}


@story(COMMIT)
def several_partitions(talk: Talk) -> None:
    topic, group = talk.topic(2), new_group(talk)
    known = {"name": topic.name, "topic_id": topic.id}
    unknown = {"name": talk.name(), "topic_id": bytes(range(16))}
    some = [partition(0, 7, committed_leader_epoch=3), partition(1, 8), partition(9, 9)]
    fields = {"group_id": group, "member_id": ""}
    topics = [{**unknown, "partitions": some}, {**known, "partitions": some}]
    talk.ask("good and bad ones", **fields, topics=topics)
    talk.ask("no partitions", **fields, topics=[{**known, "partitions": []}])
    twice = [{**known, "partitions": [partition(0, 1), partition(0, 2)]}]
    talk.ask("a partition twice", **fields, topics=twice)
    same = {**known, "partitions": [partition(0, 3)]}
    talk.ask("a topic twice", **fields, topics=[same, same])
    show(talk, group)


@story(COMMIT)
def of_members(talk: Talk) -> None:
    topic = talk.topic()
    member = begun(talk)
    own: Fields = {"member_id": member.id, "generation": 1}
    talk.ask("before its sync", **commit(member.group, topic, **own))
    talk.ask("before its sync, simple", **commit(member.group, topic))
    member = settled(talk)
    own = {"member_id": member.id, "generation": 1}
    talk.ask("member", **commit(member.group, topic, **own))
    talk.ask("stale generation", **commit(member.group, topic, **{**own, "generation": 0}))
    talk.ask("future generation", **commit(member.group, topic, **{**own, "generation": 2}))
    talk.ask("member, generation -1", **commit(member.group, topic, **{**own, "generation": -1}))
    talk.ask("unknown member", **commit(member.group, topic, member_id="nobody", generation=1))
    talk.ask("unknown member, generation -1", **commit(member.group, topic, member_id="nobody"))
    talk.ask("simple, while there are members", **commit(member.group, topic))
    talk.ask("instance id of nobody", **commit(member.group, topic, **own, group_instance_id="i"))
    told = talk.setup(ApiKey.JOIN_GROUP, version=9, **join(member.group))
    pending = {"member_id": told.member_id, "generation": 1}
    talk.ask("a member that only has an id", **commit(member.group, topic, **pending))
    disturbed(talk, member)
    talk.ask("while a rebalance is prepared", **commit(member.group, topic, **own, offset=6))
    stale = {**own, "generation": 0}
    talk.ask("while a rebalance is prepared, stale", **commit(member.group, topic, **stale))
    show(talk, member.group)


@story(COMMIT)
def after_the_members_left(talk: Talk) -> None:
    topic = talk.topic()
    member = settled(talk)
    left(talk, member)
    own: Fields = {"member_id": member.id, "generation": 1}
    talk.ask("the member that left", **commit(member.group, topic, **own))
    talk.ask("its generation without its id", **commit(member.group, topic, generation=1))
    talk.ask("generation 2 without id", **commit(member.group, topic, generation=2))
    talk.ask("its id, generation -1", **commit(member.group, topic, member_id=member.id))
    talk.ask("simple", **commit(member.group, topic))
    show(talk, member.group)


@story(COMMIT, 7)
def of_a_static_member(talk: Talk) -> None:
    topic = talk.topic()
    member = settled(talk, instance="one")
    own: Fields = {"member_id": member.id, "generation": 1, "group_instance_id": "one"}
    talk.ask("member", **commit(member.group, topic, **own))
    talk.ask("another member id", **commit(member.group, topic, **{**own, "member_id": "other"}))
    other = {**own, "group_instance_id": "two"}
    talk.ask("another instance id", **commit(member.group, topic, **other))
    without = {**own, "group_instance_id": None}
    talk.ask("without its instance id", **commit(member.group, topic, **without))


@story(COMMIT, 9)
def of_a_consumer_protocol_member(talk: Talk) -> None:
    """Members of the new protocol commit with their member epoch (KIP-848)."""
    topic, group = talk.topic(), new_group(talk)
    member, epoch = consumer(talk, group, topic.name)
    talk.ask("its epoch", **commit(group, topic, member_id=member, generation=epoch))
    talk.ask("an older epoch", **commit(group, topic, member_id=member, generation=epoch - 1))
    talk.ask("a newer epoch", **commit(group, topic, member_id=member, generation=epoch + 1))
    talk.ask("unknown member", **commit(group, topic, member_id="nobody", generation=epoch))
    talk.ask("simple", **commit(group, topic))
    talk.ask(
        "its epoch in version 8",
        version=8,
        **commit(group, topic, member_id=member, generation=epoch),
    )
    talk.ask(
        "an older epoch in version 8",
        version=8,
        **commit(group, topic, member_id=member, generation=epoch - 1),
    )


@story(COMMIT, 9, 9)
def after_the_session_ended(talk: Talk) -> None:
    topic, group = talk.topic(), new_group(talk)
    fields = join(group, session_timeout_ms=600, rebalance_timeout_ms=600)
    told = talk.setup(ApiKey.JOIN_GROUP, version=9, **fields)
    joined = talk.setup(ApiKey.JOIN_GROUP, version=9, **{**fields, "member_id": told.member_id})
    talk.setup(
        ApiKey.SYNC_GROUP, version=3, group_id=group, generation_id=1, member_id=joined.member_id
    )
    time.sleep(1.5)
    talk.ask("too late", **commit(group, topic, member_id=joined.member_id, generation=1))
