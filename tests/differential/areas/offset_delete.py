"""OffsetDelete: offsets go unless a member subscribes to their topic."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import commit, consumer, join, left, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DELETE = ApiKey.OFFSET_DELETE


def offsets(group: str, *topics: str, partitions: tuple[int, ...] = (0,)) -> Fields:
    listed = [{"partition_index": index} for index in partitions]
    return {"group_id": group, "topics": [{"name": name, "partitions": listed} for name in topics]}


@story(DELETE)
def of_groups_without_members(talk: Talk) -> None:
    topic, group = talk.topic(2), new_group(talk)
    talk.ask("unknown group", **offsets(group, topic.name))
    talk.ask("empty group id", **offsets("", topic.name))
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic))
    talk.ask("unknown topic", **offsets(group, talk.name()))
    talk.ask("good and bad partitions", **offsets(group, topic.name, partitions=(0, 1, 2, -1)))
    talk.ask("again", **offsets(group, topic.name))
    talk.ask("no topics", **offsets(group))
    talk.ask("what is committed", ApiKey.OFFSET_FETCH, version=7, group_id=group, topics=None)


@story(DELETE)
def of_groups_with_members(talk: Talk) -> None:
    topic, other = talk.topic(), talk.topic()
    group = new_group(talk)
    for each in (topic, other):
        talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, each))
    member = settled(talk, group, topics=[topic.name])
    talk.ask("subscribed and not", **offsets(group, topic.name, other.name))
    talk.ask("what is committed", ApiKey.OFFSET_FETCH, version=7, group_id=group, topics=None)
    left(talk, member)
    talk.ask("after the member left", **offsets(group, topic.name))
    group = new_group(talk)
    for each in (topic, other):
        talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, each))
    consumer(talk, group, topic.name)
    talk.ask("of the new protocol", **offsets(group, topic.name, other.name, partitions=(0, 1)))
    talk.ask("the same again", **offsets(group, topic.name, other.name))
    talk.ask("an unknown topic among others", **offsets(group, talk.name(), topic.name))
    group = settled(talk, topics=[topic.name]).group
    talk.ask("nothing was committed", **offsets(group, topic.name, other.name))
    connect = new_group(talk)
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(connect, topic))
    talk.setup(ApiKey.JOIN_GROUP, version=3, **join(connect, protocol_type="connect"))
    talk.ask("members that are no consumers", **offsets(connect, topic.name))
