"""DeleteGroups: only groups without members go."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import (
    begun,
    commit,
    consumer,
    disturbed,
    left,
    new_group,
    settled,
)
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DELETE = ApiKey.DELETE_GROUPS


@story(DELETE)
def groups(talk: Talk) -> None:
    topic, group = talk.topic(), new_group(talk)
    talk.ask("no groups", groups_names=[])
    talk.ask("unknown group", groups_names=[group])
    talk.ask("empty group id", groups_names=[""])
    talk.ask("stable group", groups_names=[settled(talk).group])
    talk.ask("group that waits for its sync", groups_names=[begun(talk).group])
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic))
    talk.ask("group with offsets only, and an unknown one", groups_names=[group, new_group(talk)])
    talk.ask("offsets afterwards", ApiKey.OFFSET_FETCH, version=7, group_id=group, topics=None)
    talk.ask("describe afterwards", ApiKey.DESCRIBE_GROUPS, version=5, groups=[group])
    talk.ask("again", groups_names=[group])
    left(talk, member := settled(talk))
    talk.ask("emptied group, twice", groups_names=[member.group, member.group])
    left(talk, empty := settled(talk))
    disturbed(talk, busy := settled(talk))
    simple = new_group(talk)
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(simple, topic))
    mixed = [empty.group, busy.group, simple, new_group(talk), ""]
    talk.ask("several, in every state", groups_names=mixed)
    talk.ask("several again", groups_names=mixed)
    talk.ask("the member that left", ApiKey.HEARTBEAT, version=4, **empty.fields())


@story(DELETE)
def of_the_new_protocol(talk: Talk) -> None:
    topic = talk.topic()
    group = new_group(talk)
    member, _ = consumer(talk, group, topic.name)
    talk.ask("with a member", groups_names=[group])
    leaving: Fields = {"group_id": group, "member_id": member, "member_epoch": -1}
    talk.setup(ApiKey.CONSUMER_GROUP_HEARTBEAT, version=0, **leaving)
    talk.ask("without members", groups_names=[group])
