"""Looks on while random clients use a group, and notices what must not happen.

* The generation never falls, and every rebalance that ends raises it.
* A generation has one leader, which alone learns of the members.
* Whoever gets an assignment of a generation gets what the log says of it.
* No commit is accepted for a generation after the next one has begun.
* What is in memory is what a replay of the log gives.
* Somebody or something will end every wait: a timer, or a session.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker.coordination.step import CoordinatorRecord
from broker.groups import records
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.state import State
from broker.groups.machine import GroupMachine
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.golden.groups.shell import Shell
from tests.property.group_clients import GROUP, Sent


class ViolationError(AssertionError):
    pass


def demand(holds: bool, what: str) -> None:
    if not holds:
        raise ViolationError(what)


class Ghost:
    def __init__(self, shell: Shell) -> None:
        self.seen: Counter[str] = Counter()
        self._shell = shell
        self._life = 0
        self._newest = -1
        """The newest generation that a member of this coordinator knows of."""
        self._leaders: dict[int, str] = {}
        self._instances: dict[str, str] = {}
        self._stored: dict[str, bytes] = {}
        self._stored_generation = -1
        self._replayed = GroupMachine(shell.settings, shell.topics, lambda: "none")
        """Only ever replays what is written."""
        shell.on_record = self._recorded

    def coordinator_changed(self) -> None:
        self._life += 1
        self._newest = -1
        self._leaders = {}

    # What is written

    def _recorded(self, record: CoordinatorRecord) -> None:
        self._replayed.replay(record)
        kind, key = records.decode_key(record.key)
        if kind != records.GROUP_METADATA or key.group != GROUP:
            return
        if record.value is None:
            self._stored_generation, self._stored = -1, {}
            self._newest = -1
            self._leaders = {}
            self.seen["groups deleted"] += 1
            return
        value: m.GroupMetadataValue = records.decode_value(kind, record.value)
        demand(
            value.generation >= self._stored_generation,
            f"generation {value.generation} is stored after {self._stored_generation}",
        )
        self._stored_generation = value.generation
        self._stored = {each.member_id: each.assignment for each in value.members}
        self.seen["generations stored" if value.members else "groups emptied"] += 1

    # What is answered

    def saw(self, sent: Sent, response: Any) -> None:
        if isinstance(response, ErrorCode):
            self.seen["requests sent away"] += 1
            return
        match response:
            case m.JoinGroupResponse() if not response.error_code:
                self._joined(sent, response)
            case m.SyncGroupResponse() if not response.error_code:
                self.seen["assignments"] += 1
                given = self._stored.get(sent.member_id)
                demand(sent.generation == self._stored_generation, "an assignment of another time")
                demand(given == response.assignment, f"{sent.member_id} is assigned something else")
            case m.OffsetCommitResponse():
                code = ErrorCode(response.topics[0].partitions[0].error_code)
                self.seen[f"commits {code.name}"] += 1
                if not code and sent.generation >= 0:
                    demand(sent.generation >= self._newest, "a commit of a stale generation")
            case _:
                pass
        failed: int = getattr(response, "error_code", 0)
        if failed:
            self.seen[f"{sent.what} {ErrorCode(failed).name}"] += 1

    def _joined(self, sent: Sent, response: m.JoinGroupResponse) -> None:
        generation, leader = response.generation_id, response.leader
        demand(generation >= self._newest, f"generation {generation} after {self._newest}")
        self._newest = generation
        if sent.instance is not None:
            self._instances[response.member_id] = sent.instance
        known = self._leaders.setdefault(generation, leader)
        is_same = known == leader or self._instance(known) == self._instance(leader)
        demand(is_same, f"{known} and {leader} lead generation {generation}")
        if response.members:
            demand(response.member_id == leader, "a follower learns of the members")
            ids = [each.member_id for each in response.members]
            demand(response.member_id in ids and len(set(ids)) == len(ids), f"members {ids}")
            self.seen["assignments skipped"] += response.skip_assignment
        self.seen["joins"] += 1

    def _instance(self, member_id: str) -> str:
        return self._instances.get(member_id, f"no instance: {member_id}")

    # What is in memory

    def look(self) -> None:
        machine = self._shell.machine
        group = machine.groups.get(GROUP)
        demand(machine.tickets() == list(self._shell.waiting), "a request waits that nobody knows")
        if isinstance(group, ClassicGroup):
            self.seen[group.state_name] += 1
            _check_membership(group)
            _check_timers(group)
        self._compare_with_replay(machine)

    def _compare_with_replay(self, machine: GroupMachine) -> None:
        group, replayed = machine.groups.get(GROUP), self._replayed.groups.get(GROUP)
        if replayed is None:
            demand(group is None or group.state_name != "Stable", "a stable group is not stored")
            return
        assert isinstance(group, ClassicGroup)
        assert isinstance(replayed, ClassicGroup)
        demand(group.seen().lasting == replayed.seen().lasting, "what lasts differs from the log")
        if group.state in (State.STABLE, State.EMPTY) and not group.is_unwritten:
            demand(_lasting(group) == _lasting(replayed), "memory differs from the log")


def _lasting(group: ClassicGroup) -> Any:
    return (
        group.state,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.state_since_ms,
        group.members.leader,
        group.subscribed_topics,
        [
            (
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                each.session_timeout_ms,
                each.rebalance_timeout_ms,
                each.metadata(group.protocol_name),
                each.assignment,
            )
            for each in group.members
        ],
    )


def _check_membership(group: ClassicGroup) -> None:
    members = list(group.members)
    ids = [each.member_id for each in members]
    demand((group.state is State.EMPTY) <= (not members), "an empty group has members")
    demand((group.state is State.STABLE) <= bool(members), "a stable group has no members")
    demand(bool(members) == (group.members.leader in ids), "nobody leads")
    demand(group.members.joining_count == sum(each.join is not None for each in members), "count")
    demand(set(group.members.pending_syncs) <= set(ids), "somebody unknown is to sync")
    demand(not set(group.members.pending_joins) & set(ids), "a member is to become one")
    for each in members:
        if each.instance_id is not None:
            known = group.members.static_id(each.instance_id)
            demand(known == each.member_id, f"{each.instance_id} is {known}")
        demand(each.sync is None or group.state is State.COMPLETING, "a sync waits for nothing")
        demand(each.join is None or group.state is State.PREPARING, "a join waits for nothing")
    supported = {name for each in members for name, _ in each.protocols}
    for name in supported:
        shared = all(name in dict(each.protocols) for each in members)
        demand(group.members.agree_on_one_of([name]) == shared, f"{name} is miscounted")


def _check_timers(group: ClassicGroup) -> None:
    deadlines = group.context.deadlines
    has_join, has_sync = ("join", GROUP) in deadlines, ("sync", GROUP) in deadlines
    demand((group.state is State.PREPARING) == has_join, "a rebalance without an end")
    if group.state is State.COMPLETING:
        demand(has_sync == bool(group.members.pending_syncs), "nobody waits for the syncs")
    for each in group.members:
        has_session = ("session", GROUP, each.member_id) in deadlines
        demand(has_session or each.keeps_its_session, f"{each.member_id} lives for ever")
    for member_id in group.members.pending_joins:
        demand(("session", GROUP, member_id) in deadlines, f"{member_id} is awaited for ever")
