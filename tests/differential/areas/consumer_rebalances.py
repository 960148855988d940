"""Groups of two and three members of the new protocol: partitions move one heartbeat at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.areas.consumer_group_heartbeat import seen_topic
from tests.differential.members import beat, new_group
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
ROUNDS = 4


@dataclass
class Consumer:
    """A member that does what it is told: it owns what it was assigned last."""

    talk: Talk
    group: str
    id: str
    topic: str
    instance: str | None = None
    more: Fields = field(default_factory=dict)
    counts_only: bool = False
    """For assignors that depend on Kafka's hash tables: how many partitions, not which ones."""
    epoch: int = 0
    owned: list[Any] = field(default_factory=list)

    def join(self, step: str) -> Any:
        fields = beat(self.group, self.id, 0, self.topic, instance_id=self.instance, **self.more)
        return self._heard(self.talk.ask(step, BEAT, version=self._version, **fields))

    def beat(self, step: str, **changed: Any) -> Any:
        """With what it owns, so that the coordinator learns of revocations."""
        fields: Fields = {
            "group_id": self.group,
            "member_id": self.id,
            "member_epoch": self.epoch,
            "instance_id": self.instance,
            "topic_partitions": self.owned,
            **changed,
        }
        return self._heard(self.talk.ask(step, BEAT, version=self._version, **fields))

    def leave(self, step: str, epoch: int = -1) -> None:
        fields = {"group_id": self.group, "member_id": self.id, "member_epoch": epoch}
        self.talk.ask(step, BEAT, version=self._version, **fields, instance_id=self.instance)

    @property
    def _version(self) -> int:
        return self.talk.version if self.talk.api_key == BEAT else 1

    def _heard(self, answer: Any) -> Any:
        if not answer.error_code:
            self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = answer.assignment.topic_partitions
        if self.counts_only:
            self.talk.steps[-1].response = counted(answer)
        return answer


def counted(value: Any) -> Any:
    """The same answer with the number of partitions in place of each list of them."""
    if isinstance(value, dict):
        return {
            key: len(each) if key == "partitions" else counted(each) for key, each in value.items()
        }
    return [counted(each) for each in value] if isinstance(value, list) else value


def describe(talk: Talk, step: str, group: str, *, counts_only: bool = False) -> None:
    answer = talk.ask(step, ApiKey.CONSUMER_GROUP_DESCRIBE, version=1, group_ids=[group])
    if counts_only:
        talk.steps[-1].response = counted(answer)


def settle(talk: Talk, step: str, *consumers: Consumer) -> None:
    """Some rounds of heartbeats, then what the group looks like."""
    for number in range(1, ROUNDS + 1):
        for each in consumers:
            name = each.id.rpartition("-")[0].rpartition("-")[2]
            each.beat(f"{step}, round {number}: {name}")
    one = consumers[0]
    describe(talk, f"{step}, described", one.group, counts_only=one.counts_only)


def consumers(talk: Talk, group: str, topic: str, assignor: str) -> list[Consumer]:
    return [
        Consumer(
            talk,
            group,
            talk.name(name),
            topic,
            more={"server_assignor": assignor},
            counts_only=assignor == "uniform",
        )
        for name in ("a", "b", "c", "d")
    ]


def _story_of_three(talk: Talk, assignor: str) -> None:
    topic, group = seen_topic(talk, 6).name, new_group(talk)
    a, b, c, d = consumers(talk, group, topic, assignor)
    a.join("a joins")
    b.join("b joins")
    describe(talk, "b has joined", group, counts_only=a.counts_only)
    settle(talk, "two", a, b)
    c.join("c joins")
    settle(talk, "three", a, b, c)
    d.join("d finds the group full")
    b.leave("b leaves")
    b.beat("b after it left")
    settle(talk, "two again", a, c)
    d.join("d joins")
    a.epoch, before = max(a.epoch - 1, 1), a.epoch
    a.beat("a with an older epoch")
    a.epoch = before
    settle(talk, "three again", a, c, d)
    for each in (a, c, d):
        each.leave("leaves")
    describe(talk, "empty", group)


@story(BEAT)
def three_members_uniform(talk: Talk) -> None:
    """Both nodes have group.consumer.max.size=3."""
    _story_of_three(talk, "uniform")


@story(BEAT)
def three_members_range(talk: Talk) -> None:
    _story_of_three(talk, "range")


@story(BEAT)
def static_members_are_replaced(talk: Talk) -> None:
    topic, group = seen_topic(talk, 4).name, new_group(talk)
    a, b, after, thief, *_ = (
        Consumer(talk, group, talk.name(name), topic, instance)
        for name, instance in (("a", "one"), ("b", "two"), ("c", "two"), ("d", "two"))
    )
    a.join("a joins")
    b.join("b joins")
    settle(talk, "two", a, b)
    thief.join("another one takes b's name")
    b.leave("b is gone for a while", epoch=-2)
    a.beat("a is not disturbed")
    describe(talk, "b is gone", group)
    after.join("b is back")
    a.beat("a is still not disturbed")
    settle(talk, "b is back", a, after)
    b.beat("the b before")
    b.leave("the b before leaves")
    b.leave("the b before is gone for a while", epoch=-2)
    after.beat("without its instance id", instance_id=None)
    after.beat("with another instance id", instance_id="three")
    after.leave("b leaves for good")
    settle(talk, "one is left", a)


@story(BEAT)
def subscriptions_change(talk: Talk) -> None:
    first, second = seen_topic(talk, 2).name, seen_topic(talk, 2).name
    group = new_group(talk)
    a, b, *_ = consumers(talk, group, first, "uniform")
    a.join("a joins")
    b.join("b joins")
    settle(talk, "one topic", a, b)
    b.beat("b adds a topic", subscribed_topic_names=[first, second])
    settle(talk, "two topics", a, b)
    b.beat("b drops a topic", subscribed_topic_names=[second])
    settle(talk, "a topic each", a, b)
    a.beat("a wants nothing", subscribed_topic_names=[])
    settle(talk, "a has nothing", a, b)
    a.beat("a changes its time limit", rebalance_timeout_ms=60_000)
    a.beat("a changes its assignor", server_assignor="range")
    settle(talk, "range", a, b)
