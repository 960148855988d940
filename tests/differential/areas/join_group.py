"""JoinGroup: who is let into a classic group, and with which generation."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import begun, join, left, new_group, settled, subscription
from tests.differential.script import story
from tests.differential.talk import Talk

JOIN = ApiKey.JOIN_GROUP
MEMBER_ID_REQUIRED_SINCE = 4


def joined(talk: Talk, step: str, group: str, **changed: Any) -> str:
    """Joins as a new member; returns the member id."""
    on = str(changed.pop("on", "first"))
    answer = talk.ask(step, on=on, **join(group, **changed))
    if answer.generation_id < 0 and answer.member_id:
        answer = talk.ask(
            f"{step}, with the id it got", on=on, **join(group, answer.member_id, **changed)
        )
    return str(answer.member_id)


@story(JOIN)
def bad_fields(talk: Talk) -> None:
    group = new_group(talk)
    talk.ask("empty group id", **join(""))
    talk.ask("session timeout below the minimum", **join(group, session_timeout_ms=499))
    talk.ask("session timeout of zero", **join(group, session_timeout_ms=0))
    talk.ask("negative session timeout", **join(group, session_timeout_ms=-1))
    talk.ask("session timeout above the maximum", **join(group, session_timeout_ms=1_800_001))
    talk.ask("no protocols", **join(group, protocols=[]))
    talk.ask("empty protocol type", **join(group, protocol_type=""))
    talk.ask("unknown member of an unknown group", **join(group, "nobody"))


@story(JOIN)
def the_first_member(talk: Talk) -> None:
    group = new_group(talk)
    member = joined(talk, "first member", group)
    talk.ask("again before its sync", **join(group, member))
    talk.ask("unknown member of a group with members", **join(group, "nobody"))
    talk.ask("unknown member with an instance id", **join(group, "nobody", group_instance_id="i"))
    # From version 4 on a new member is told its id first and adds nothing to the group.
    if talk.version >= MEMBER_ID_REQUIRED_SINCE:
        talk.ask("another protocol type", **join(group, protocol_type="connect"))
        other = [{"name": "sticky", "metadata": b""}]
        talk.ask("no protocol in common", **join(group, protocols=other))
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[group])


@story(JOIN)
def a_stable_group(talk: Talk) -> None:
    member = settled(talk)
    talk.ask("leader rejoins with the same protocols", **join(member.group, member.id))
    sync = member.fields(
        generation_id=2, assignments=[{"member_id": member.id, "assignment": b"x"}]
    )
    talk.ask("leader syncs", ApiKey.SYNC_GROUP, version=3, **sync)
    changed = [{"name": "range", "metadata": subscription("a")}]
    talk.ask(
        "leader rejoins with other metadata", **join(member.group, member.id, protocols=changed)
    )
    talk.ask(
        "inconsistent type as known member", **join(member.group, member.id, protocol_type="x")
    )
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[member.group])


@story(JOIN)
def inconsistent_newcomers(talk: Talk) -> None:
    member = settled(talk)
    talk.ask("another protocol type", **join(member.group, protocol_type="connect"))
    other = [{"name": "sticky", "metadata": b""}]
    talk.ask("no protocol in common", **join(member.group, protocols=other))
    talk.ask("no protocols", **join(member.group, protocols=[]))


@story(JOIN)
def two_members(talk: Talk) -> None:
    first = settled(talk)
    group = first.group
    both = [{"name": "sticky", "metadata": b"s"}, {"name": "range", "metadata": b"r"}]
    if talk.version >= MEMBER_ID_REQUIRED_SINCE:
        second = talk.ask(
            "newcomer without id", on="second", **join(group, protocols=both)
        ).member_id
    else:
        second = ""
    newcomer = talk.send("newcomer", on="second", **join(group, second, protocols=both))
    assert newcomer.is_silent()
    talk.ask("heartbeat of the old member", ApiKey.HEARTBEAT, version=3, **first.fields())
    leader = talk.ask("old member rejoins", **join(group, first.id))
    follower = newcomer.answer()
    generation = leader.generation_id
    assignments = [
        {"member_id": leader.member_id, "assignment": b"for the leader"},
        {"member_id": follower.member_id, "assignment": b"for the follower"},
    ]
    waits = talk.send(
        "follower syncs", ApiKey.SYNC_GROUP, version=3, on="second",
        group_id=group, generation_id=generation, member_id=follower.member_id,
    )  # fmt: skip
    talk.ask(
        "leader syncs", ApiKey.SYNC_GROUP, version=3,
        group_id=group, generation_id=generation, member_id=leader.member_id,
        assignments=assignments,
    )  # fmt: skip
    waits.answer()
    again = join(group, follower.member_id, protocols=both)
    talk.ask("follower rejoins a stable group unchanged", on="second", **again)
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[group])


@story(JOIN, 5)
def static_members(talk: Talk) -> None:
    group = new_group(talk)
    first = talk.ask("first with an instance id", **join(group, group_instance_id="one"))
    sync = {
        "group_id": group, "generation_id": first.generation_id, "member_id": first.member_id,
        "group_instance_id": "one",
        "assignments": [{"member_id": first.member_id, "assignment": b"all"}],
    }  # fmt: skip
    talk.ask("sync", ApiKey.SYNC_GROUP, version=3, **sync)
    again = talk.ask("restarted with the same instance id", **join(group, group_instance_id="one"))
    talk.ask("old id with its instance id", **join(group, first.member_id, group_instance_id="one"))
    talk.ask("old id without instance id", **join(group, first.member_id))
    talk.ask(
        "new id with another instance id", **join(group, again.member_id, group_instance_id="two")
    )
    talk.ask("new id without instance id", **join(group, again.member_id))
    beat = {"group_id": group, "generation_id": again.generation_id}
    beating = ApiKey.HEARTBEAT
    talk.ask(
        "heartbeat by old id",
        beating,
        version=3,
        **beat,
        member_id=first.member_id,
        group_instance_id="one",
    )
    talk.ask(
        "heartbeat by new id",
        beating,
        version=3,
        **beat,
        member_id=again.member_id,
        group_instance_id="one",
    )
    talk.ask(
        "heartbeat by new id, unknown instance",
        beating,
        version=3,
        **beat,
        member_id=again.member_id,
        group_instance_id="two",
    )
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[group])


@story(JOIN, 5)
def a_static_member_restarts_with_other_protocols(talk: Talk) -> None:
    member = settled(talk, instance="one")
    changed = [{"name": "range", "metadata": subscription("a")}]
    talk.ask("restart", **join(member.group, group_instance_id="one", protocols=changed))
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[member.group])


@story(JOIN)
def after_the_group_emptied(talk: Talk) -> None:
    member = settled(talk)
    left(talk, member)
    talk.ask("the member that left", **join(member.group, member.id))
    joined(talk, "another protocol type", member.group, protocol_type="connect")


@story(JOIN)
def while_completing(talk: Talk) -> None:
    member = begun(talk)
    talk.ask("unchanged", **join(member.group, member.id))
    changed = [{"name": "range", "metadata": subscription("a")}]
    talk.ask("other metadata", **join(member.group, member.id, protocols=changed))
