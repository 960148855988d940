"""SyncGroup: who gets which assignment, and when."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import begun, disturbed, left, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Talk

SYNC = ApiKey.SYNC_GROUP


@story(SYNC)
def without_a_group(talk: Talk) -> None:
    group = new_group(talk)
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    talk.ask("unknown group", group_id=group, generation_id=1, member_id="nobody", **protocol)
    talk.ask("empty group id", group_id="", generation_id=1, member_id="nobody", **protocol)
    talk.ask("empty member id", group_id=group, generation_id=1, member_id="", **protocol)
    left(talk, member := settled(talk))
    talk.ask("of a member that left", **member.fields(**protocol))


@story(SYNC)
def before_the_first_assignment(talk: Talk) -> None:
    member = begun(talk)
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    talk.ask("unknown member", **member.fields(member_id="nobody", **protocol))
    talk.ask("stale generation", **member.fields(generation_id=0, **protocol))
    talk.ask("future generation", **member.fields(generation_id=2, **protocol))
    talk.ask("generation -1", **member.fields(generation_id=-1, **protocol))
    talk.ask("instance id of nobody", **member.fields(group_instance_id="i", **protocol))
    wrong = {"protocol_type": "connect", "protocol_name": "range"}
    talk.ask("another protocol type", **member.fields(**wrong))
    talk.ask("another protocol", **member.fields(protocol_type="consumer", protocol_name="sticky"))


@story(SYNC)
def the_leader_assigns(talk: Talk) -> None:
    member = begun(talk)
    assignments = [
        {"member_id": member.id, "assignment": b"for the leader"},
        {"member_id": "nobody", "assignment": b"for nobody"},
    ]
    fields = member.fields(protocol_type="consumer", protocol_name="range")
    talk.ask("leader", **fields, assignments=assignments)
    talk.ask(
        "again, with another assignment",
        **fields,
        assignments=[{"member_id": member.id, "assignment": b"x"}],
    )
    talk.ask("again, without assignments", **fields)
    talk.ask("stale generation when stable", **{**fields, "generation_id": 0})
    disturbed(talk, member)
    talk.ask("while a rebalance is prepared", **fields)


@story(SYNC)
def the_leader_assigns_nothing(talk: Talk) -> None:
    member = begun(talk)
    talk.ask("no assignments", **member.fields(protocol_type="consumer", protocol_name="range"))
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[member.group])


@story(SYNC, 3)
def static_member(talk: Talk) -> None:
    member = begun(talk, instance="one")
    fields = member.fields(protocol_type="consumer", protocol_name="range")
    talk.ask("another member id", **{**fields, "member_id": "other"})
    talk.ask("another instance id", **{**fields, "group_instance_id": "two"})
    talk.ask("without its instance id", **{**fields, "group_instance_id": None})
