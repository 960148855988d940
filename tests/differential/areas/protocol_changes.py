"""A classic group becomes one of the new protocol, member by member, and a classic one again.

Members are static, because assignors sort members without a name by ids that brokers draw.
"""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.areas.classic_rebalances import Caller, gathered, until
from tests.differential.areas.consumer_group_heartbeat import seen_topic
from tests.differential.areas.consumer_rebalances import Consumer, describe, settle
from tests.differential.members import assignment, commit, new_group, subscription
from tests.differential.script import story
from tests.differential.talk import Fields, Talk, Topic

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT


def of(topic: Topic) -> list[dict[str, Any]]:
    return [{"name": "range", "metadata": subscription(topic.name)}]


class ClassicCaller(Caller):
    """A classic member in a story of the new protocol: JoinGroup in its highest version."""

    def rejoin(self, step: str, topic: Topic) -> None:
        """Joins and syncs; in a group of the new protocol it waits for nobody."""
        self.joined(self.join(step, protocols=of(topic)))
        self.sync(f"{step}, and syncs").answer()


def newcomer(talk: Talk, group: str, topic: Topic, name: str, instance: str) -> Consumer:
    """A member of the new protocol; its assignor is the one whose result depends on names alone."""
    more = {"server_assignor": "range"}
    return Consumer(talk, group, talk.name(name), topic.name, instance, more)


def both_ways(talk: Talk, step: str, group: str) -> None:
    describe(talk, f"{step}: as consumer group", group)
    talk.ask(f"{step}: as classic group", ApiKey.DESCRIBE_GROUPS, version=6, groups=[group])
    listed = talk.ask(f"{step}: listed", ApiKey.LIST_GROUPS, version=5)
    listed["groups"] = [each for each in listed.groups if each.group_id == group]


def two_classic_members(talk: Talk, topic: Topic) -> tuple[ClassicCaller, ClassicCaller]:
    group = new_group(talk)
    a = ClassicCaller(talk, "a", group, "one")
    b = ClassicCaller(talk, "b", group, "two")
    gathered("classic", a, b, protocols=of(topic))
    waits = b.sync("classic: b waits")
    fields = a.who(
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            {"member_id": a.id, "assignment": assignment(topic.name, 0, 1)},
            {"member_id": b.id, "assignment": assignment(topic.name, 2, 3)},
        ],
    )
    talk.ask("classic: a assigns", ApiKey.SYNC_GROUP, version=5, on="a", **fields)
    waits.answer()
    return a, b


@story(BEAT, 1)
def member_by_member_and_back(talk: Talk) -> None:
    topic = seen_topic(talk, 4)
    a, b = two_classic_members(talk, topic)
    group = a.group
    both_ways(talk, "classic", group)
    new_a = newcomer(talk, group, topic, "a", "one")
    a.leave("a leaves to change its protocol")
    new_a.join("a joins with the new protocol")
    both_ways(talk, "one of each", group)
    b.beat("b learns of it")
    b.rejoin("b rejoins", topic)
    new_a.beat("a beats")
    b.beat("b beats")
    settle(talk, "one of each", new_a)
    own: Fields = {"member_id": b.id, "generation": b.generation, "group_instance_id": "two"}
    committing = ApiKey.OFFSET_COMMIT
    talk.ask("b commits", committing, version=9, **commit(group, topic, **own))
    stale: Fields = {**own, "generation": b.generation - 1}
    talk.ask("b commits, stale", committing, version=9, **commit(group, topic, **stale))
    b.beat("b with an older generation", generation_id=b.generation - 1)
    b.beat("b with a newer generation", generation_id=b.generation + 1)
    b.beat("nobody", member_id="nobody", group_instance_id=None)
    new_b = newcomer(talk, group, topic, "b", "two")
    b.leave("b leaves to change its protocol")
    new_b.join("b joins with the new protocol")
    settle(talk, "only the new protocol", new_a, new_b)
    both_ways(talk, "only the new protocol", group)
    back = ClassicCaller(talk, "a3", group, "one")
    new_a.leave("a leaves to go back")
    back.rejoin("a is back", topic)
    new_b.beat("b learns of it")
    settle(talk, "one of each again", new_b)
    both_ways(talk, "one of each again", group)
    new_b.leave("b leaves to go back")
    both_ways(talk, "classic again", group)
    back.beat("a learns of it")
    last = ClassicCaller(talk, "b3", group, "two")
    pending = last.join("b is back", protocols=of(topic))
    until(talk, group, "PreparingRebalance", 2)
    back.joined(back.join("a rejoins", protocols=of(topic)))
    last.joined(pending)
    both_ways(talk, "all are back", group)


@story(BEAT, 1)
def a_third_member_brings_the_new_protocol(talk: Talk) -> None:
    topic = seen_topic(talk, 4)
    a, b = two_classic_members(talk, topic)
    group = a.group
    c = newcomer(talk, group, topic, "c", "three")
    c.join("c joins with the new protocol")
    both_ways(talk, "upgraded", group)
    a.beat("a learns of it")
    b.beat("b learns of it")
    a.rejoin("a rejoins", topic)
    b.rejoin("b rejoins", topic)
    c.beat("c gets its part")
    a.beat("a beats")
    b.beat("b beats")
    both_ways(talk, "settled", group)
    full = newcomer(talk, group, topic, "d", "four")
    full.join("a fourth with the new protocol")
    fourth = ClassicCaller(talk, "e", group, "five")
    fourth.join("a fourth with the classic protocol", protocols=of(topic)).answer()
    same = ClassicCaller(talk, "same", group, "three")
    same.join("c comes back with the classic protocol", protocols=of(topic)).outcome(2.0)
    both_ways(talk, "full", group)
    a.leave("a leaves")
    b.leave("b leaves")
    both_ways(talk, "without classic members", group)


@story(BEAT, 1)
def static_members_change_their_protocol(talk: Talk) -> None:
    """A static member comes back with the other protocol under the name that it had."""
    topic = seen_topic(talk, 4)
    a, b = two_classic_members(talk, topic)
    group = a.group
    new_a = newcomer(talk, group, topic, "a", "one")
    new_a.join("a changes its protocol")
    both_ways(talk, "one of each", group)
    a.beat("the a before")
    b.beat("b")
    b.rejoin("b rejoins", topic)
    settle(talk, "one of each", new_a)
    thief = ClassicCaller(talk, "thief", group, "one")
    thief.join("a changes back", protocols=of(topic)).outcome(2.0)
    both_ways(talk, "a changed back", group)
    new_a.beat("the a of the new protocol")


@story(BEAT, 1)
def static_members_change_their_protocol_during_a_rebalance(talk: Talk) -> None:
    topic = seen_topic(talk, 4)
    a, b = two_classic_members(talk, topic)
    group = a.group
    b.leave("b leaves")
    new_a = newcomer(talk, group, topic, "a", "one")
    new_a.join("a changes its protocol")
    settle(talk, "alone", new_a)
    both_ways(talk, "alone", group)
