"""OffsetFetch: committed offsets, of one group (versions 1 to 7) or of several (8 and later)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import commit, consumer, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

FETCH = ApiKey.OFFSET_FETCH


def wanted(
    group: str,
    topics: Sequence[tuple[str, bytes]] | None,
    partitions: Sequence[int] = (0,),
    **more: Any,
) -> Fields:
    """The same question for every version."""
    listed = None
    if topics is not None:
        listed = [
            {"name": name, "topic_id": topic_id, "partition_indexes": list(partitions)}
            for name, topic_id in topics
        ]
    by_name = None
    if listed is not None:
        by_name = [{k: v for k, v in each.items() if k != "topic_id"} for each in listed]
    group_fields = {"group_id": group, "topics": listed, **more}
    return {"group_id": group, "topics": by_name, "groups": [group_fields]}


def committed(talk: Talk, topic: Topic, group: str, **more: Any) -> None:
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic, **more))


@story(FETCH)
def of_an_unknown_group(talk: Talk) -> None:
    topic, group = talk.topic(), new_group(talk)
    talk.ask("one partition", **wanted(group, [topic]))
    talk.ask("no topics", **wanted(group, []))
    talk.ask("no partitions", **wanted(group, [topic], []))
    talk.ask("empty group id", **wanted("", [topic]))
    if talk.version >= 2:
        talk.ask("all topics", **wanted(group, None))


@story(FETCH)
def of_committed_offsets(talk: Talk) -> None:
    topic, group = talk.topic(2), new_group(talk)
    committed(talk, topic, group)
    talk.ask("committed, not committed, not there, -1", **wanted(group, [topic], [0, 1, 2, -1]))
    unknown = (talk.name(), bytes(range(1, 17)))
    talk.ask("unknown topic", **wanted(group, [unknown, topic]))
    talk.ask("zero topic id, empty name", **wanted(group, [("", bytes(16))]))
    talk.ask("no topics", **wanted(group, []))
    talk.ask("a partition twice", **wanted(group, [topic], [0, 0]))
    talk.ask("a topic twice", **wanted(group, [topic, topic]))
    if talk.version >= 2:
        talk.ask("all topics", **wanted(group, None))
    if talk.version >= 7:
        talk.ask("stable ones", **wanted(group, [topic], [0, 1]), require_stable=True)
    committed(talk, topic, group, metadata=None, offset=9)
    talk.ask("null metadata was committed", **wanted(group, [topic]))


@story(FETCH, 8)
def several_groups(talk: Talk) -> None:
    topic, first, second = talk.topic(), new_group(talk), new_group(talk)
    committed(talk, topic, first)
    one = wanted(first, [topic])["groups"]
    two = wanted(second, [topic])["groups"]
    bad = wanted("", [topic])["groups"]
    talk.ask("two", groups=one + two)
    talk.ask("none", groups=[])
    talk.ask("one twice", groups=one + one)
    talk.ask("one without a name", groups=one + bad)
    talk.ask("two, stable ones", groups=one + two, require_stable=True)
    everything = wanted(first, None)["groups"] + wanted(second, None)["groups"]
    talk.ask("all topics of two", groups=everything)
    talk.ask("all topics of two, stable ones", groups=everything, require_stable=True)
    talk.ask("all topics of one, some of the other", groups=everything[:1] + two)
    other = talk.topic(2)
    committed(talk, other, first, partition=1, offset=7, metadata="")
    committed(talk, other, second, offset=3)
    unknown = (talk.name(), bytes(range(1, 17)))
    listed = [topic, other, unknown]
    many = wanted(first, listed, [0, 1])["groups"] + wanted(second, listed, [1, 0, 5])["groups"]
    talk.ask("several topics of each", groups=many)
    talk.ask("all topics of each", groups=everything)
    member = settled(talk)
    known = wanted(member.group, [topic], member_id=member.id, member_epoch=1)["groups"]
    stale = wanted(member.group, [topic], member_id=member.id, member_epoch=7)["groups"]
    talk.ask("a member among others", groups=one + known)
    talk.ask("a member of another epoch among others", groups=stale + one)


@story(FETCH, 9)
def with_member_ids(talk: Talk) -> None:
    topic, member = talk.topic(), settled(talk)
    talk.ask("classic member", **wanted(member.group, [topic], member_id=member.id, member_epoch=1))
    talk.ask("stale", **wanted(member.group, [topic], member_id=member.id, member_epoch=0))
    talk.ask("nobody", **wanted(member.group, [topic], member_id="nobody", member_epoch=1))
    group = new_group(talk)
    talk.ask("unknown group", **wanted(group, [topic], member_id="nobody", member_epoch=1))
    own, epoch = consumer(talk, group, topic.name)
    talk.ask(
        "member of the new protocol", **wanted(group, [topic], member_id=own, member_epoch=epoch)
    )
    talk.ask("older epoch", **wanted(group, [topic], member_id=own, member_epoch=epoch - 1))
    talk.ask("newer epoch", **wanted(group, [topic], member_id=own, member_epoch=epoch + 1))
    talk.ask("unknown member", **wanted(group, [topic], member_id="nobody", member_epoch=epoch))
    talk.ask("null member, epoch -1", **wanted(group, [topic]))
    talk.ask("null member, an epoch", **wanted(group, [topic], member_epoch=epoch))
    talk.ask("empty member id, epoch -1", **wanted(group, [topic], member_id="", member_epoch=-1))
    talk.ask(
        "older epoch, all topics", **wanted(group, None, member_id=own, member_epoch=epoch - 1)
    )
