"""Groups of two and three classic members: who waits for whom, who leads, who gets what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import JOIN_VERSION, commit, join, new_group, subscription
from tests.differential.script import story
from tests.differential.talk import Fields, Pending, Talk

JOIN, SYNC, BEAT = ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT
SYNC_VERSION, BEAT_VERSION = 5, 4
MEMBER_ID_REQUIRED_SINCE = 4
BOTH = [{"name": "range", "metadata": b"r"}, {"name": "roundrobin", "metadata": b"rr"}]
OTHER_ORDER = [BOTH[1], BOTH[0]]


@dataclass
class Caller:
    """One consumer with a connection of its own."""

    talk: Talk
    name: str
    group: str
    instance: str | None = None
    id: str = ""
    generation: int = -1

    def join(self, step: str, **changed: Any) -> Pending:
        """Sends JoinGroup; a new member is given its id first, where the version has that."""
        fields = join(self.group, self.id, group_instance_id=self.instance, **changed)
        if not self.id and not self.instance and self.talk.version >= MEMBER_ID_REQUIRED_SINCE:
            self.id = self.talk.ask(f"{step}, without an id", on=self.name, **fields).member_id
            fields["member_id"] = self.id
        version = self.talk.version if self.talk.api_key == JOIN else JOIN_VERSION
        return self.talk.send(step, JOIN, version=version, on=self.name, **fields)

    def joined(self, pending: Pending) -> Any:
        answer = pending.answer()
        self.id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, step: str, *assigned: Caller) -> Pending:
        fields = self.who(
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                {"member_id": each.id, "assignment": f"for {each.name}".encode()}
                for each in assigned
            ],
        )
        return self.talk.send(step, SYNC, version=SYNC_VERSION, on=self.name, **fields)

    def beat(self, step: str, **changed: Any) -> Any:
        return self.talk.ask(step, BEAT, version=BEAT_VERSION, on=self.name, **self.who(**changed))

    def leave(self, step: str) -> None:
        members = [{"member_id": self.id, "group_instance_id": self.instance}]
        leaving = ApiKey.LEAVE_GROUP
        self.talk.ask(step, leaving, on=self.name, group_id=self.group, members=members)

    def who(self, **changed: Any) -> Fields:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            **changed,
        }


def until(talk: Talk, group: str, state: str, members: int | None = None) -> None:
    """Until the group has this state, and this many members that have joined."""

    def is_there(response: Any) -> bool:
        [found] = response.groups
        return found.group_state == state and members in (None, len(found.members))

    talk.setup(ApiKey.DESCRIBE_GROUPS, version=5, until=is_there, groups=[group])


def describe(talk: Talk, step: str, group: str) -> None:
    talk.ask(step, ApiKey.DESCRIBE_GROUPS, version=6, groups=[group])


def gathered(step: str, *callers: Caller, **changed: Any) -> None:
    """All of them join; the first one was there before the others, so it leads."""
    first, *others = callers
    waiting = []
    if first.generation < 0:
        first.joined(first.join(f"{step}: {first.name}", **changed))
        first.sync(f"{step}: {first.name} syncs alone", first).answer()
    for number, each in enumerate(others):
        waiting.append((each, each.join(f"{step}: {each.name}", **changed)))
        until(first.talk, first.group, "PreparingRebalance", 2 + number)
    first.joined(first.join(f"{step}: {first.name} rejoins", **changed))
    for each, pending in waiting:
        each.joined(pending)


def assigned(step: str, leader: Caller, *others: Caller) -> None:
    """Followers wait for the leader's assignment."""
    waiting = [each.sync(f"{step}: {each.name} waits") for each in others]
    for pending in waiting:
        assert pending.is_silent(0.05)
    leader.sync(f"{step}: {leader.name} assigns", leader, *others).answer()
    for pending in waiting:
        pending.answer()


@story(JOIN, 1)
def two_and_three_members(talk: Talk) -> None:
    group = new_group(talk)
    a, b, c = (Caller(talk, name, group) for name in "abc")
    gathered("two", a, b)
    describe(talk, "two have joined", group)
    b.beat("b before its sync")
    assigned("two", a, b)
    a.beat("a when stable")
    describe(talk, "two are stable", group)
    third = c.join("c joins")
    until(talk, group, "PreparingRebalance", 3)
    a.beat("a learns of the rebalance")
    b.sync("b syncs too late").answer()
    again = b.join("b rejoins")
    assert again.is_silent(0.05)
    old = a.generation
    a.joined(a.join("a rejoins"))
    b.joined(again)
    c.joined(third)
    a.beat("a with its generation before", generation_id=old)
    assigned("three", a, b, c)
    describe(talk, "three are stable", group)
    c.leave("c leaves")
    c.beat("c after it left")
    a.beat("a learns that c left")
    again = b.join("b rejoins after c left")
    a.joined(a.join("a rejoins after c left"))
    b.joined(again)
    assigned("two again", a, b)
    describe(talk, "two are stable again", group)


@story(JOIN, 1)
def the_leader_leaves(talk: Talk) -> None:
    group = new_group(talk)
    a, b, c = (Caller(talk, name, group) for name in "abc")
    gathered("three", a, b, c)
    assigned("three", a, b, c)
    a.leave("a leaves")
    describe(talk, "after the leader left", group)
    b.beat("b learns of it")
    first = b.join("b rejoins")
    for answer in (c.joined(c.join("c rejoins")), b.joined(first)):
        # Which of the two leads depends on a hash table in Kafka.
        answer.update(leader="either", members=[])
    describe(talk, "with another leader", group)
    b.leave("b leaves before a sync")
    c.beat("c learns of it")
    c.joined(c.join("c rejoins alone"))
    c.sync("c syncs alone", c).answer()
    c.leave("c leaves")
    describe(talk, "empty", group)


@story(JOIN, 1)
def protocols_are_voted_for(talk: Talk) -> None:
    group = new_group(talk)
    a, b, c = (Caller(talk, name, group) for name in "abc")
    gathered("two for range", a, b, protocols=BOTH)
    third = c.join("c prefers another", protocols=OTHER_ORDER)
    until(talk, group, "PreparingRebalance", 3)
    again = b.join("b rejoins", protocols=BOTH)
    a.joined(a.join("a rejoins", protocols=BOTH))
    b.joined(again)
    c.joined(third)
    wrong = Caller(talk, "wrong", group)
    fields = join(group, protocols=[{"name": "sticky", "metadata": b""}])
    talk.ask("no protocol in common", on=wrong.name, **fields)
    fields = join(group, protocol_type="connect")
    talk.ask("another protocol type", on=wrong.name, **fields)


@story(JOIN, 1)
def a_group_that_is_full(talk: Talk) -> None:
    """Both nodes have group.max.size=3."""
    group = new_group(talk)
    a, b, c = (Caller(talk, name, group) for name in "abc")
    gathered("three", a, b, c)
    assigned("three", a, b, c)
    talk.ask("a fourth", on="d", **join(group))
    static = join(group, group_instance_id="d") if talk.version >= 5 else join(group)
    talk.ask("a fourth, static", on="d", **static)
    describe(talk, "still three", group)
    talk.ask("a member that is known", on="b", **join(group, b.id))
    c.leave("one leaves")
    a.beat("a learns of it")


@story(JOIN, 5)
def static_members_are_replaced(talk: Talk) -> None:
    topic, group = talk.topic(), new_group(talk)
    a, b = Caller(talk, "a", group, "one"), Caller(talk, "b", group, "two")
    gathered("two", a, b)
    assigned("two", a, b)
    again = Caller(talk, "b2", group, "two")
    again.joined(again.join("b restarts"))
    a.beat("a is not disturbed")
    b.beat("the b before")
    b.sync("the b before syncs").answer()
    talk.ask("the b before rejoins", on="b", **join(group, b.id, group_instance_id="two"))
    own: Fields = {"member_id": b.id, "generation": b.generation, "group_instance_id": "two"}
    talk.ask("the b before commits", ApiKey.OFFSET_COMMIT, version=9, **commit(group, topic, **own))
    b.leave("the b before leaves")
    again.sync("b syncs").answer()
    again.beat("b beats")
    describe(talk, "b is another member", group)
    leader = Caller(talk, "a2", group, "one")
    leader.joined(leader.join("a, the leader, restarts"))
    leader.sync("a syncs", leader, again).answer()
    describe(talk, "a is another member", group)
    changed = [{"name": "range", "metadata": subscription("other")}]
    third = Caller(talk, "b3", group, "two")
    third.joined(third.join("b restarts with another subscription", protocols=changed))
    third.sync("b syncs again").answer()
    pending = leader.join("a rejoins, as leaders do to cause a rebalance")
    until(talk, group, "PreparingRebalance")
    third.beat("b learns of the rebalance")
    third.joined(third.join("b rejoins"))
    leader.joined(pending)
    assigned("after the change", leader, third)
    leaving = [{"member_id": "", "group_instance_id": name} for name in ("one", "nobody", "two")]
    talk.ask("both leave by name", ApiKey.LEAVE_GROUP, version=5, group_id=group, members=leaving)
    describe(talk, "empty", group)
