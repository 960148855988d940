"""LeaveGroup: members that go, one (versions 0 to 2) or several at once (3 and later)."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import begun, disturbed, join, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

LEAVE = ApiKey.LEAVE_GROUP


def leaver(group: str, member_id: str, instance: str | None = None) -> Fields:
    member = {"member_id": member_id, "group_instance_id": instance, "reason": "enough"}
    return {"group_id": group, "member_id": member_id, "members": [member]}


@story(LEAVE)
def without_a_group(talk: Talk) -> None:
    group = new_group(talk)
    talk.ask("unknown group", **leaver(group, "nobody"))
    talk.ask("empty group id", **leaver("", "nobody"))
    talk.ask("empty member id", **leaver(group, ""))


@story(LEAVE)
def of_a_group_with_one_member(talk: Talk) -> None:
    member = settled(talk)
    talk.ask("unknown member", **leaver(member.group, "nobody"))
    talk.ask("empty member id", **leaver(member.group, ""))
    talk.ask("instance id of nobody", **leaver(member.group, member.id, "i"))
    talk.ask("member", **leaver(member.group, member.id))
    talk.ask("member again", **leaver(member.group, member.id))
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[member.group])
    talk.ask("join", ApiKey.JOIN_GROUP, version=3, **join(member.group))


@story(LEAVE)
def during_a_rebalance(talk: Talk) -> None:
    member = begun(talk)
    talk.ask("before its sync", **leaver(member.group, member.id))
    member = settled(talk)
    told = talk.setup(ApiKey.JOIN_GROUP, version=9, **join(member.group))
    talk.ask("a member that only has an id", **leaver(member.group, told.member_id))
    disturbed(talk, member)
    talk.ask("while a rebalance is prepared", **leaver(member.group, member.id))


@story(LEAVE, 3)
def several_at_once(talk: Talk) -> None:
    member = settled(talk, instance="one")
    talk.ask("nobody at all", group_id=member.group, members=[])
    talk.ask(
        "by instance id and wrong ids",
        group_id=member.group,
        members=[
            {"member_id": "nobody", "group_instance_id": None},
            {"member_id": "other", "group_instance_id": "one"},
            {"member_id": "", "group_instance_id": "two"},
            {"member_id": "", "group_instance_id": None},
        ],
    )
    talk.ask(
        "by its instance id, twice",
        group_id=member.group,
        members=[
            {"member_id": "", "group_instance_id": "one"},
            {"member_id": "", "group_instance_id": "one"},
        ],
    )
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[member.group])


@story(LEAVE, 3)
def static_member_by_its_member_id(talk: Talk) -> None:
    member = settled(talk, instance="one")
    talk.ask("member id alone", **leaver(member.group, member.id))
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[member.group])
