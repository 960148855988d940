"""Heartbeat: what a member learns about its group."""

from __future__ import annotations

import time

from broker.protocol.apis import ApiKey
from tests.differential.members import begun, disturbed, join, left, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Talk

BEAT = ApiKey.HEARTBEAT


@story(BEAT)
def without_a_group(talk: Talk) -> None:
    group = new_group(talk)
    talk.ask("unknown group", group_id=group, generation_id=1, member_id="nobody")
    talk.ask("empty group id", group_id="", generation_id=1, member_id="nobody")
    talk.ask("empty member id", group_id=group, generation_id=1, member_id="")
    left(talk, member := settled(talk))
    talk.ask("of a member that left", **member.fields())


@story(BEAT)
def of_a_stable_group(talk: Talk) -> None:
    member = settled(talk)
    talk.ask("member", **member.fields())
    talk.ask("unknown member", **member.fields(member_id="nobody"))
    talk.ask("empty member id", **member.fields(member_id=""))
    talk.ask("stale generation", **member.fields(generation_id=0))
    talk.ask("future generation", **member.fields(generation_id=2))
    talk.ask("generation -1", **member.fields(generation_id=-1))
    talk.ask("instance id of nobody", **member.fields(group_instance_id="i"))


@story(BEAT)
def during_a_rebalance(talk: Talk) -> None:
    member = begun(talk)
    talk.ask("before its sync", **member.fields())
    talk.ask("before its sync, stale generation", **member.fields(generation_id=0))
    member = settled(talk)
    disturbed(talk, member)
    talk.ask("while a rebalance is prepared", **member.fields())
    talk.ask("while a rebalance is prepared, stale generation", **member.fields(generation_id=0))
    talk.ask("while a rebalance is prepared, unknown member", **member.fields(member_id="nobody"))


@story(BEAT)
def of_a_member_that_only_has_an_id(talk: Talk) -> None:
    member = settled(talk)
    told = talk.setup(ApiKey.JOIN_GROUP, version=9, **join(member.group))
    talk.ask("pending member", **member.fields(member_id=told.member_id))
    talk.ask(
        "pending member, generation -1", **member.fields(member_id=told.member_id, generation_id=-1)
    )


@story(BEAT, 3)
def of_a_static_member(talk: Talk) -> None:
    member = settled(talk, instance="one")
    talk.ask("member", **member.fields())
    talk.ask("another member id", **member.fields(member_id="other"))
    talk.ask(
        "another member id, stale generation", **member.fields(member_id="other", generation_id=0)
    )
    talk.ask("another instance id", **member.fields(group_instance_id="two"))
    talk.ask("without its instance id", **member.fields(group_instance_id=None))


@story(BEAT, 4)
def after_the_session_ended(talk: Talk) -> None:
    """A member that says nothing for its session timeout is removed."""
    group = new_group(talk)
    fields = join(group, session_timeout_ms=600, rebalance_timeout_ms=600)
    told = talk.setup(ApiKey.JOIN_GROUP, version=9, **fields)
    fields["member_id"] = told.member_id
    joined = talk.setup(ApiKey.JOIN_GROUP, version=9, **fields)
    talk.ask(
        "sync",
        ApiKey.SYNC_GROUP,
        version=3,
        group_id=group,
        generation_id=1,
        member_id=joined.member_id,
    )
    time.sleep(1.5)
    talk.ask("too late", group_id=group, generation_id=1, member_id=joined.member_id)
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[group])


@story(BEAT, 4)
def after_no_sync_came(talk: Talk) -> None:
    """The leader sends heartbeats but no assignment within the rebalance timeout."""
    group = new_group(talk)
    fields = join(group, session_timeout_ms=10_000, rebalance_timeout_ms=600)
    told = talk.setup(ApiKey.JOIN_GROUP, version=9, **fields)
    fields["member_id"] = told.member_id
    joined = talk.setup(ApiKey.JOIN_GROUP, version=9, **fields)
    time.sleep(1.5)
    talk.ask("too late", group_id=group, generation_id=1, member_id=joined.member_id)
    talk.ask("describe", ApiKey.DESCRIBE_GROUPS, version=5, groups=[group])
