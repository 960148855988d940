"""ConsumerGroupDescribe: groups of the new protocol."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import commit, consumer, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Talk

DESCRIBE = ApiKey.CONSUMER_GROUP_DESCRIBE


@story(DESCRIBE)
def groups(talk: Talk) -> None:
    topic, group = talk.topic(2), new_group(talk)
    talk.ask("no groups", group_ids=[])
    talk.ask("unknown group", group_ids=[group])
    talk.ask(
        "unknown group, with operations", group_ids=[group], include_authorized_operations=True
    )
    talk.ask("empty group id", group_ids=[""])
    talk.ask("classic group", group_ids=[settled(talk).group])
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic))
    talk.ask("group with offsets only", group_ids=[group])
    group = new_group(talk)
    consumer(talk, group, topic.name, rack_id="r1", instance_id="one")
    talk.ask("one member", group_ids=[group], include_authorized_operations=True)
    talk.ask("twice, and an unknown one", group_ids=[group, group, new_group(talk)])
