"""Plays a story of one consumer group `g`: members, their heartbeats, topics, time, failovers.

interval 1000                    shortest time between assignments in ms; before anything else
topic t 3 | delete t             a topic appears or grows | disappears
join A t u [regex=t.*] [instance=i] [assignor=range] [rebalance=20]
beat A [epoch=3] [owns t-0 t-1]  a heartbeat; without `owns` it does not say what A owns
beat A [topics=t,u] [regex=x]    another subscription
leave A | pause A                for good | for a while, as static members do
commit A 5 [epoch=3]             an offset of t-0
wait 10                          seconds
classic A t [owned=t-0,t-1] [instance=i]   A sends JoinGroup, until it has what it came for
sync A | assign A A=t-0 B=t-1    SyncGroup; as a leader, with assignments
hello A | bye A                  Heartbeat and LeaveGroup of the classic protocol
policy upgrade                   group.consumer.migration.policy; before anything else
fail over | compact | refuse | accept
show
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from tests.golden.groups.consumer.classic_clients import ClassicClients
from tests.golden.groups.consumer.words import Words
from tests.unit.broker.groups.consumer.desk import GROUP, SETTINGS, Desk


class Story(ClassicClients):
    def __init__(self) -> None:
        super().__init__()
        self._settings: GroupSettings = replace(SETTINGS, group_initial_rebalance_delay_ms=0)
        self._desk: Desk | None = None
        self._words: Words | None = None
        self._epochs: dict[str, int] = {}
        self._instances: dict[str, str] = {}

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            self._desk = Desk(self._settings)
        return self._desk

    @property
    def words(self) -> Words:
        if self._words is None:
            self._words = Words(self.desk.topics)
        return self._words

    def interpret(self, lines: list[str]) -> list[str]:
        self._said = []
        for line in lines:
            command, *arguments = line.split()
            written = len(self._desk.log) if self._desk else 0
            before = self._state()
            at = len(self._said)
            getattr(self, f"_do_{command}")(*arguments)
            log = self._desk.log[written:] if self._desk else []
            self._said[at:at] = [said for record in log for said in self.words.record(record)]
            if self._state() != before:
                self._said.append(f"{GROUP}: {self._state()}")
        return self._said or ["nothing happens"]

    def _state(self) -> str:
        group = self._desk.machine.groups.get(GROUP) if self._desk else None
        return "no group" if group is None else f"{group.kind.value}, {group.state_name}"

    # Commands

    def _do_interval(self, interval_ms: str) -> None:
        self._settings = replace(
            self._settings, group_consumer_assignment_interval_ms=int(interval_ms)
        )

    def _do_policy(self, policy: str) -> None:
        self._settings = replace(self._settings, group_consumer_migration_policy=policy)

    def _do_topic(self, name: str, count: str) -> None:
        self.desk.put_topic(name, int(count))
        self.words.partitions({self.desk.topic_id(name): [0]})

    def _do_delete(self, name: str) -> None:
        self.desk.delete_topic(name)

    def _do_join(self, name: str, *arguments: str) -> None:
        options = dict(each.split("=", 1) for each in arguments if "=" in each)
        topics = [each for each in arguments if "=" not in each]
        if "instance" in options:
            self._instances[name] = options["instance"]
        response = self.desk.join(
            name,
            *topics,
            subscribed_topic_regex=options.get("regex"),
            instance_id=self._instances.get(name),
            server_assignor=options.get("assignor"),
            rebalance_timeout_ms=int(options.get("rebalance", 60)) * 1000,
        )
        self._answered(name, response)

    def _do_beat(self, name: str, *arguments: str) -> None:
        fields: dict[str, Any] = {"instance_id": self._instances.get(name)}
        epoch = self._epochs.get(name, 0)
        for argument in arguments:
            if argument.startswith("epoch="):
                epoch = int(argument.removeprefix("epoch="))
            elif argument.startswith("topics="):
                names = argument.removeprefix("topics=")
                fields["subscribed_topic_names"] = names.split(",") if names else []
            elif argument.startswith("regex="):
                fields["subscribed_topic_regex"] = argument.removeprefix("regex=")
        if "owns" in arguments:
            owned: dict[str, list[int]] = {}
            for argument in arguments[arguments.index("owns") + 1 :]:
                if argument != "nothing":
                    topic, number = argument.rsplit("-", 1)
                    owned.setdefault(topic, []).append(int(number))
            fields["owned"] = owned
        self._answered(name, self.desk.beat(name, epoch, **fields))

    def _answered(self, name: str, response: m.ConsumerGroupHeartbeatResponse) -> None:
        self._said.append(self.words.reply(name, response))
        if not response.error_code:
            self._epochs[name] = response.member_epoch

    def _do_leave(self, name: str, epoch: int = -1) -> None:
        response = self.desk.beat(name, epoch, instance_id=self._instances.get(name))
        self._said.append(self.words.reply(name, response))

    def _do_pause(self, name: str) -> None:
        self._do_leave(name, -2)

    def _do_commit(self, name: str, offset: str, *options: str) -> None:
        epoch = self._epochs.get(name, -1)
        for option in options:
            epoch = int(option.removeprefix("epoch="))
        part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=int(offset))
        body = m.OffsetCommitRequest(
            group_id=GROUP,
            member_id=name,
            generation_id_or_member_epoch=epoch,
            topics=[m.OffsetCommitRequestTopic(name="t", partitions=[part])],
        )
        response: m.OffsetCommitResponse = self.desk.ask(
            lambda machine, ticket, now: machine.offset_commit(ticket, body, 9, now)
        )
        code = ErrorCode(response.topics[0].partitions[0].error_code)
        self._said.append(
            f"{name}: {'committed ' + offset if code is ErrorCode.NONE else code.name}"
        )

    def _do_wait(self, seconds: str) -> None:
        self.desk.wait(float(seconds))

    def _do_fail(self, _over: str) -> None:
        self.desk.fail_over()

    def _do_compact(self) -> None:
        self.desk.compact()

    def _do_refuse(self) -> None:
        self.desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE

    def _do_accept(self) -> None:
        self.desk.refuses = ErrorCode.NONE

    def _do_show(self) -> None:
        try:
            state = self.desk.group.state
        except KafkaError:
            self._said.append(self._state())
            return
        self._said.append(
            f"{GROUP}: {self._state()}, epoch {state.epoch}, target of {state.assignment_epoch}"
        )
        for member in state.members.values():
            said = f"{self.words.name(member.member_id)}: "
            said += "classic, " if member.uses_classic_protocol else ""
            said += f"epoch {member.epoch} {member.state.name} holds "
            said += self.words.partitions(member.assigned)
            if member.revoking:
                said += f", gives up {self.words.partitions(member.revoking)}"
            target = state.targets.get(member.member_id, {})
            self._said.append(f"{said}; target {self.words.partitions(target)}")
