"""Random lives of a consumer group: members come, go, are slow or silent, replies get lost, topics
change, coordinators fail. After every step the promises of the protocol are checked."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

from broker.groups.consumer.group_state import GroupState
from broker.groups.consumer.member import STATIC_LEAVE_EPOCH, MemberState
from broker.groups.machine import GroupMachine
from broker.protocol.errors import ErrorCode, KafkaError
from tests.property.consumer_group_client import Client, by_topic
from tests.unit.broker.groups.consumer.desk import GROUP, SETTINGS, Desk

TOPICS = ("a", "b", "x1", "x2")
REGEXES = ("x.", ".*", "(a|x1)")
CLIENTS_MAX = 7


class ViolationError(Exception):
    """A promise of the protocol is broken."""


class World:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.desk = Desk(SETTINGS)
        self.clients: list[Client] = []
        self.seen: Counter[str] = Counter()
        self._made = 0
        self._epochs: dict[str, int] = {}
        self._group_epoch = 0
        self._left_behind: dict[str, Client] = {}
        self._create("a")

    # A life

    def live(self, steps: int) -> None:
        actions: list[tuple[float, Callable[[], None]]] = [
            (10, self._beat),
            (8, self._work),
            (2, self._join),
            (0.5, self._leave),
            (0.3, self._vanish),
            (0.8, self._return),
            (0.6, self._resubscribe),
            (1.2, self._change_topics),
            (2, self._pass_time),
            (0.2, self._long_silence),
            (0.5, self._fail_over),
            (0.8, self._refuse),
            (0.5, self._late_copy),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(steps):
            [(_, act)] = self.draw.choices(actions, weights)
            act()
            self.check()
            if self.draw.random() < 0.2:
                self.desk.refuses = ErrorCode.NONE

    def settle(self) -> None:
        """Left alone, the group comes to rest: everybody has what the target says."""
        self.desk.refuses = ErrorCode.NONE
        for turn in range(60):
            for client in self._present():
                client.beat(self.desk)
                client.work()
                self.check()
            self.desk.wait(2)
            # New topics are looked for at most every ten seconds.
            if turn > 6 and self._is_at_rest():
                self._check_coverage()
                return
        raise ViolationError(f"the group does not come to rest: {self.describe()}")

    def _is_at_rest(self) -> bool:
        clients = self._present()
        state = self._state()
        if not clients or state is None:
            return not clients and (state is None or not state.members)
        ids = {client.member_id for client in clients}
        if state.members.keys() != ids or self.desk.group.state_name != "Stable":
            return False
        # A member whose expression matches no topic joins without a new assignment, and has none.
        targets = {client.member_id: state.target_of(client.member_id) for client in clients}
        return not state.subscriptions.unresolved and all(
            client.epoch == state.epoch
            and by_topic(client.owned)
            == {topic: sorted(them) for topic, them in targets[client.member_id].items()}
            for client in clients
        )

    def _check_coverage(self) -> None:
        """Every partition of a topic that a member is subscribed to has its owner."""
        topics = self.desk.topics
        wanted: set[tuple[bytes, int]] = set()
        owned: set[tuple[bytes, int]] = set()
        for client in self._present():
            owned |= client.owned
            for name in topics.names():
                if name in client.topics or (client.regex and re.fullmatch(client.regex, name)):
                    count = topics.partition_count(name) or 0
                    wanted |= {(self.desk.topic_id(name), number) for number in range(count)}
        if owned != wanted:
            raise ViolationError(f"{sorted(owned ^ wanted)} are amiss: {self.describe()}")

    # What happens

    def _present(self) -> list[Client]:
        return [client for client in self.clients if not client.is_gone]

    def _one(self) -> Client | None:
        present = self._present()
        return self.draw.choice(present) if present else None

    def _subscription(self) -> tuple[list[str], str | None]:
        kind = self.draw.random()
        names = self.draw.sample(TOPICS, self.draw.randrange(1, 3))
        if kind < 0.5:
            return ["a"], None
        if kind < 0.7:
            return names, None
        return ([], names[0]) if kind < 0.72 else (names[1:], self.draw.choice(REGEXES))

    def _join(self) -> None:
        if len(self._present()) >= CLIENTS_MAX:
            return
        self._made += 1
        topics, regex = self._subscription()
        client = Client(f"m{self._made}", topics, regex)
        if self.draw.random() < 0.3:
            client.instance_id = f"i{self._made}"
        self.clients.append(client)
        client.beat(self.desk, reply_is_lost=self.draw.random() < 0.2)
        self.seen["joins"] += 1

    def _beat(self) -> None:
        client = self._one()
        if client is None:
            return
        lost = self.draw.random() < 0.1
        code = client.beat(self.desk, reply_is_lost=lost)
        self.seen["lost replies"] += lost
        self.seen[code.name] += 1

    def _late_copy(self) -> None:
        """A request from two epochs ago arrives once more, by a connection that was given up."""
        client, state = self._one(), self._state()
        member = None if client is None or state is None else state.members.get(client.member_id)
        if client is None or member is None:
            return
        old = [sent for sent in client.sent if 0 < sent[0] < member.previous_epoch]
        if not old:
            return
        epoch, fields = self.draw.choice(old)
        response = self.desk.beat(client.member_id, epoch, **fields)
        if response.error_code != ErrorCode.FENCED_MEMBER_EPOCH:
            raise ViolationError(f"epoch {epoch} was accepted: {self.describe()}")
        self.seen["late copies"] += 1

    def _work(self) -> None:
        client = self._one()
        if client is not None:
            client.work()

    def _leave(self) -> None:
        client = self._one()
        if client is not None:
            client.leave(self.desk, for_a_while=self.draw.random() < 0.7)
            if client.instance_id is not None:
                self._left_behind[client.instance_id] = client
            self.seen["leaves"] += 1

    def _vanish(self) -> None:
        client = self._one()
        if client is not None:
            client.is_gone = True
            self.seen["crashes"] += 1

    def _return(self) -> None:
        """A static member comes back as a new process."""
        if not self._left_behind:
            return
        instance_id = self.draw.choice(sorted(self._left_behind))
        before = self._left_behind.pop(instance_id)
        self._made += 1
        topics, regex = before.topics, before.regex
        if self.draw.random() < 0.3:
            topics, regex = self._subscription()
        client = Client(f"m{self._made}", topics, regex, instance_id)
        self.clients.append(client)
        client.beat(self.desk)
        self.seen["returns"] += 1

    def _resubscribe(self) -> None:
        client = self._one()
        if client is not None:
            client.topics, client.regex = self._subscription()
            client.changed_subscription = True
            client.beat(self.desk)
            self.seen["other subscriptions"] += 1

    def _create(self, name: str) -> None:
        self.desk.put_topic(name, self.draw.randrange(1, 6))

    def _change_topics(self) -> None:
        name = self.draw.choice(TOPICS)
        count = self.desk.topics.partition_count(name)
        if count is None:
            self._create(name)
        elif self.draw.random() < 0.4:
            self.desk.delete_topic(name)
        else:
            self.desk.put_topic(name, count + 1)
        self.seen["changes of topics"] += 1

    def _pass_time(self) -> None:
        self.desk.wait(self.draw.uniform(0.1, 6))

    def _long_silence(self) -> None:
        before = self._members()
        self.desk.wait(self.draw.uniform(20, 50))
        self.seen["members thrown out"] += len(before - self._members())

    def _fail_over(self) -> None:
        if self.draw.random() < 0.5:
            self.desk.compact()
        self.desk.fail_over()
        self.seen["failovers"] += 1

    def _refuse(self) -> None:
        self.desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE

    # Promises

    def _state(self) -> GroupState | None:
        try:
            return self.desk.machine.consumer_groups.find(GROUP).state
        except KafkaError:
            return None

    def _members(self) -> set[str]:
        state = self._state()
        return set() if state is None else set(state.members)

    def check(self) -> None:
        state = self._state()
        if state is None:
            return
        self._check_owners(state)
        self._check_epochs(state)
        for client in self._present():
            self._check_client(state, client)
        if self.draw.random() < 0.03:
            self._check_replay()
        waiting = any(
            member.state is MemberState.UNRELEASED_PARTITIONS for member in state.members.values()
        )
        self.seen["waits for others"] += waiting

    def _check_owners(self, state: GroupState) -> None:
        """No partition is assigned to, or not given up yet by, two members."""
        if not state.targets.keys() <= state.members.keys():
            raise ViolationError(f"a target has outlived its member: {self.describe()}")
        owners: dict[tuple[bytes, int], str] = {}
        for member in state.members.values():
            for topic_id, numbers in (*member.assigned.items(), *member.revoking.items()):
                for number in numbers:
                    other = owners.setdefault((topic_id, number), member.member_id)
                    if other != member.member_id:
                        raise ViolationError(f"two members hold {number}: {self.describe()}")
                    if state.owners.owner(topic_id, number) != member.member_id:
                        raise ViolationError(f"{number} is held and seems free: {self.describe()}")

    def _check_client(self, state: GroupState, client: Client) -> None:
        """Whatever a member of the group reads from, the coordinator knows that it holds."""
        member = state.members.get(client.member_id)
        if member is None:
            return
        held = {
            (topic_id, number)
            for topic_id, numbers in (*member.assigned.items(), *member.revoking.items())
            for number in numbers
        }
        if not client.owned <= held:
            raise ViolationError(f"{client} owns what others may get: {self.describe()}")

    def _check_epochs(self, state: GroupState) -> None:
        if state.epoch < self._group_epoch or state.assignment_epoch > state.epoch:
            raise ViolationError(f"the group's epochs went wrong: {self.describe()}")
        self._group_epoch = state.epoch
        for member in state.members.values():
            before = self._epochs.get(member.member_id, 0)
            if member.epoch == STATIC_LEAVE_EPOCH:
                continue
            if not before <= member.epoch <= state.epoch:
                raise ViolationError(f"an epoch went back or ahead: {self.describe()}")
            self._epochs[member.member_id] = member.epoch
        self._epochs = {each: self._epochs[each] for each in state.members if each in self._epochs}

    def _check_replay(self) -> None:
        """The live state is what the log gives; also if it was cleaned while it was read."""
        live = snapshot(self.desk.machine)
        log = self.desk.log
        last = {record.key: place for place, record in enumerate(log)}
        cut = self.draw.randrange(len(log) + 1)
        for dirty in (len(log), 0, cut):
            machine = GroupMachine(SETTINGS, self.desk.topics, str)
            for place, record in enumerate(log):
                if place < dirty or last[record.key] == place:
                    machine.replay(record)
            if snapshot(machine) != live:
                raise ViolationError(f"a replay with {dirty} old records differs")
        self.seen["replays"] += 1

    def describe(self) -> str:
        state = self._state()
        if state is None:
            return "no group"
        lines = [f"epoch {state.epoch}, target of {state.assignment_epoch}"]
        for member in state.members.values():
            lines.append(
                f"{member.member_id}: {member.epoch} {member.state.name} {member.assigned} "
                f"revoking {member.revoking} target {state.targets.get(member.member_id)}"
            )
        lines += [str(client) for client in self._present()]
        return "\n".join(lines)


def snapshot(machine: GroupMachine) -> object:
    """The lasting state of all groups, in a form that can be compared."""
    return {
        group.group_id: (
            group.state.epoch,
            group.state.metadata_hash,
            group.state.assignment_epoch,
            group.state.assignment_timestamp_ms,
            group.state.targets,
            group.state.members,
            group.state.static_ids,
            {topic: owners for topic, owners in group.state.owners._by_topic.items() if owners},
            group.state.subscriptions.names,
            group.state.subscriptions.regexes,
            group.state.subscriptions.resolved,
            group.state.assignor_votes,
            group.state.is_reconciled,
        )
        for group in machine.consumer_groups
    }
