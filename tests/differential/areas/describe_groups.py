"""DescribeGroups: classic groups in each of their states."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import begun, commit, consumer, disturbed, left, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Talk

DESCRIBE = ApiKey.DESCRIBE_GROUPS


@story(DESCRIBE)
def in_every_state(talk: Talk) -> None:
    topic = talk.topic()
    group = new_group(talk)
    talk.ask("unknown group", groups=[group])
    talk.ask("empty group id", groups=[""])
    talk.ask("no groups", groups=[])
    talk.ask("unknown group twice", groups=[group, group])
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic))
    talk.ask("only offsets", groups=[group])
    member = settled(talk, instance="one")
    talk.ask("stable", groups=[member.group])
    if talk.version >= 3:
        talk.ask(
            "stable, with operations", groups=[member.group], include_authorized_operations=True
        )
        talk.ask(
            "unknown, with operations", groups=[new_group(talk)], include_authorized_operations=True
        )
    disturbed(talk, member := settled(talk))
    talk.ask("a rebalance is prepared", groups=[member.group])
    talk.ask("a rebalance is completed", groups=[begun(talk).group])
    left(talk, member := settled(talk))
    talk.ask("emptied", groups=[member.group])


@story(DESCRIBE)
def of_the_new_protocol(talk: Talk) -> None:
    topic = talk.topic()
    group = new_group(talk)
    consumer(talk, group, topic.name)
    talk.ask("consumer group", groups=[group])
    classic = settled(talk).group
    talk.ask("of both kinds, and an unknown one", groups=[classic, group, new_group(talk), ""])
    talk.ask("one twice", groups=[classic, group, classic])
