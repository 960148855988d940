"""ConsumerGroupHeartbeat: joining, staying, leaving and being fenced in the new protocol."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import (
    assignment,
    beat,
    commit,
    join,
    new_group,
    settled,
    subscription,
)
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT


def short(group: str, member: str, epoch: int, **changed: Any) -> Fields:
    """A heartbeat that says nothing new."""
    return {"group_id": group, "member_id": member, "member_epoch": epoch, **changed}


def seen_topic(talk: Talk, partitions: int = 1) -> Topic:
    """A topic that the coordinator assigns already: it learns of topics later than the broker."""
    topic, group = talk.topic(partitions), new_group(talk)
    member = talk.name("member")

    def is_assigned(response: Any) -> bool:
        if response.assignment is not None and response.assignment.topic_partitions:
            return True
        # Only a full heartbeat returns the assignment again.
        fields["member_epoch"] = response.member_epoch
        return False

    fields = beat(group, member, 0, topic.name)
    talk.setup_with(BEAT, fields, is_assigned)
    return topic


@story(BEAT)
def bad_fields(talk: Talk) -> None:
    topic, group = seen_topic(talk).name, new_group(talk)
    member = talk.name("member")
    talk.ask("empty group id", **beat("", member, 0, topic))
    talk.ask("empty member id", **beat(group, "", 0, topic))
    group = new_group(talk)
    talk.ask("no rebalance timeout", **beat(group, member, 0, topic, rebalance_timeout_ms=-1))
    talk.ask(
        "rebalance timeout 0", **beat(new_group(talk), member, 0, topic, rebalance_timeout_ms=0)
    )
    talk.ask("null topics, join", **beat(group, member, 0, subscribed_topic_names=None))
    talk.ask("null owned partitions, join", **beat(group, member, 0, topic, topic_partitions=None))
    owned = [{"topic_id": bytes(range(16)), "partitions": [0]}]
    talk.ask("owned partitions, join", **beat(group, member, 0, topic, topic_partitions=owned))
    talk.ask("unknown assignor", **beat(group, member, 0, topic, server_assignor="sticky"))
    talk.ask("empty instance id", **beat(group, member, 0, topic, instance_id=""))
    talk.ask("empty rack", **beat(group, member, 0, topic, rack_id=""))
    talk.ask("empty assignor", **beat(group, member, 0, topic, server_assignor=""))
    talk.ask("epoch -3", **beat(group, member, -3, topic))
    talk.ask("epoch -2 without instance id", **beat(group, member, -2, topic))
    talk.ask("epoch 1 to an unknown group", **beat(group, member, 1, topic))
    talk.ask("epoch -1 to an unknown group", **beat(group, member, -1, topic))
    talk.ask("illegal topic name", **beat(new_group(talk), member, 0, "no/name"))
    talk.ask("empty topics, join", **beat(new_group(talk), member, 0))
    talk.ask("topic twice", **beat(new_group(talk), member, 0, topic, topic))
    talk.ask("unknown topic", **beat(new_group(talk), member, 0, talk.name()))
    talk.ask("assignor range", **beat(new_group(talk), member, 0, topic, server_assignor="range"))


@story(BEAT)
def one_member(talk: Talk) -> None:
    topic, group = seen_topic(talk, partitions=2), new_group(talk)
    member = talk.name("member")
    joined = talk.ask("join", **beat(group, member, 0, topic.name))
    epoch = joined.member_epoch
    talk.ask("stay", **short(group, member, epoch))
    owned = [{"topic_id": topic.id, "partitions": [0, 1]}]
    talk.ask("stay, owning all", **short(group, member, epoch, topic_partitions=owned))
    talk.ask("stay, full again", **beat(group, member, epoch, topic.name))
    talk.ask("newer epoch", **short(group, member, epoch + 1))
    talk.ask(
        "older epoch", **short(group, member, epoch - 1) if epoch > 1 else short(group, member, 99)
    )
    talk.ask("unknown member", **short(group, "nobody", epoch))
    talk.ask("instance id of nobody", **short(group, member, epoch, instance_id="i"))
    talk.ask("unsubscribe", **short(group, member, epoch, subscribed_topic_names=[]))
    again = talk.ask("join again with epoch 0", **beat(group, member, 0, topic.name))
    talk.ask("stay with the epoch before", **short(group, member, epoch))
    talk.ask("stay with the new epoch", **short(group, member, again.member_epoch))
    talk.ask("describe", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])
    talk.ask("leave", **short(group, member, -1))
    talk.ask("leave again", **short(group, member, -1))
    talk.ask("stay after leaving", **short(group, member, again.member_epoch))
    talk.ask("describe afterwards", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])


@story(BEAT)
def two_members(talk: Talk) -> None:
    """Partitions move from one member to the other: first revoked, then assigned."""
    topic, group = seen_topic(talk, 4), new_group(talk)
    first, second = talk.name("first"), talk.name("second")
    one = talk.ask("first joins", **beat(group, first, 0, topic.name))
    two = talk.ask("second joins", **beat(group, second, 0, topic.name))
    owned = [{"topic_id": topic.id, "partitions": [0, 1, 2, 3]}]
    told = talk.ask("first stays", **short(group, first, one.member_epoch, topic_partitions=owned))
    talk.ask("second waits", **short(group, second, two.member_epoch, topic_partitions=[]))
    talk.ask("describe", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])
    talk.ask(
        "first has not revoked", **short(group, first, one.member_epoch, topic_partitions=owned)
    )
    kept = told.assignment.topic_partitions
    talk.ask("first revoked", **short(group, first, one.member_epoch, topic_partitions=kept))
    talk.ask(
        "first with its epoch before",
        **short(group, first, one.member_epoch, topic_partitions=kept),
    )
    talk.ask(
        "first with its epoch before, owning more",
        **short(group, first, one.member_epoch, topic_partitions=owned),
    )
    talk.ask("second gets its half", **short(group, second, two.member_epoch))
    talk.ask(
        "describe when both are done", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group]
    )
    talk.ask("first leaves", **short(group, first, -1))
    talk.ask("second gets all", **short(group, second, two.member_epoch))
    talk.ask("describe afterwards", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])


@story(BEAT)
def static_members(talk: Talk) -> None:
    topic, group = seen_topic(talk, partitions=2), new_group(talk)
    first, second = talk.name("member"), talk.name("member")
    one = talk.ask("join", **beat(group, first, 0, topic.name, instance_id="one"))
    talk.ask(
        "another member, same instance", **beat(group, second, 0, topic.name, instance_id="one")
    )
    talk.ask("gone for a while", **short(group, first, -2, instance_id="one"))
    talk.ask("stay while gone", **short(group, first, one.member_epoch, instance_id="one"))
    back = talk.ask(
        "back as another member", **beat(group, second, 0, topic.name, instance_id="one")
    )
    talk.ask("the old member", **short(group, first, one.member_epoch, instance_id="one"))
    talk.ask("the old member leaves", **short(group, first, -1, instance_id="one"))
    talk.ask("the old member is gone for a while", **short(group, first, -2, instance_id="one"))
    talk.ask("the new member", **short(group, second, back.member_epoch, instance_id="one"))
    talk.ask("without its instance id", **short(group, second, back.member_epoch))
    talk.ask("unknown instance", **short(group, second, back.member_epoch, instance_id="two"))
    talk.ask("unknown instance leaves", **short(group, second, -1, instance_id="two"))
    talk.ask("gone for a while, unknown instance", **short(group, second, -2, instance_id="two"))
    talk.ask("describe", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])
    talk.ask("leaves for good", **short(group, second, -1, instance_id="one"))
    talk.ask("describe afterwards", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])


@story(BEAT, 1)
def by_regular_expression(talk: Talk) -> None:
    topic, group = seen_topic(talk, partitions=2), new_group(talk)
    member = talk.name("member")
    fields = beat(group, member, 0, subscribed_topic_names=None)
    talk.ask("no expression that compiles", **fields, subscribed_topic_regex="[")
    talk.ask("empty expression", **fields, subscribed_topic_regex="")
    joined = talk.ask("join", **fields, subscribed_topic_regex=topic.name + ".*")
    # Topics are matched in the background, so it takes a few heartbeats.
    fields = short(group, member, joined.member_epoch)
    talk.setup_with(BEAT, fields, lambda response: response.assignment is not None)
    talk.ask("describe", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])


@story(BEAT)
def classic_and_new(talk: Talk) -> None:
    """One group cannot be of both kinds, but for a migration of consumers."""
    topic = seen_topic(talk)
    classic = settled(talk)
    newcomer = beat(classic.group, talk.name("member"), 0, topic.name)
    talk.ask("join a classic group whose assignment is no consumer's", **newcomer)
    group = new_group(talk)
    talk.setup(ApiKey.JOIN_GROUP, version=3, **join(group, protocol_type="connect"))
    talk.ask("join a classic group that is not of consumers", **beat(group, "m", 0, topic.name))
    group = new_group(talk)
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic))
    member = talk.name("member")
    joined = talk.ask("join a group that has offsets only", **beat(group, member, 0, topic.name))
    talk.ask("classic join", ApiKey.JOIN_GROUP, version=9, **join(group))
    talk.ask(
        "classic heartbeat",
        ApiKey.HEARTBEAT,
        version=4,
        group_id=group,
        generation_id=1,
        member_id=member,
    )
    sync = {"group_id": group, "generation_id": joined.member_epoch, "member_id": member}
    talk.ask("classic sync", ApiKey.SYNC_GROUP, version=5, **sync)
    leave = [{"member_id": member}]
    talk.ask("classic leave", ApiKey.LEAVE_GROUP, version=5, group_id=group, members=leave)
    talk.ask("describe", ApiKey.CONSUMER_GROUP_DESCRIBE, version=0, group_ids=[group])


@story(BEAT)
def a_classic_group_migrates(talk: Talk) -> None:
    """A classic member and one of the new protocol in one group (KIP-848, online migration)."""
    topic = seen_topic(talk, 2)
    classic = settled(talk, topics=[topic.name], assigned=assignment(topic.name, 0, 1))
    group, member = classic.group, talk.name("member")
    joined = talk.ask("new member joins", **beat(group, member, 0, topic.name))
    talk.ask(
        "describe as consumer group", ApiKey.CONSUMER_GROUP_DESCRIBE, version=1, group_ids=[group]
    )
    talk.ask("describe as classic group", ApiKey.DESCRIBE_GROUPS, version=6, groups=[group])
    talk.ask("classic heartbeat", ApiKey.HEARTBEAT, version=4, **classic.fields())
    again = join(
        group, classic.id, protocols=[{"name": "range", "metadata": subscription(topic.name)}]
    )
    rejoined = talk.ask("classic rejoin", ApiKey.JOIN_GROUP, version=9, **again)
    sync = {"group_id": group, "generation_id": rejoined.generation_id, "member_id": classic.id}
    talk.ask(
        "classic sync",
        ApiKey.SYNC_GROUP,
        version=5,
        protocol_type="consumer",
        protocol_name="range",
        **sync,
    )
    talk.ask("new member stays", **short(group, member, joined.member_epoch, topic_partitions=[]))
    talk.ask("new member leaves", **short(group, member, -1))
    talk.ask(
        "describe when only classic members are left",
        ApiKey.DESCRIBE_GROUPS,
        version=6,
        groups=[group],
    )
