"""Clients of the classic protocol in stories of consumer groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker.coordination.step import Ticket
from broker.groups.consumer.embedded_protocol import read_assignment
from broker.groups.group import GroupClient
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.golden.groups.consumer.words import Words
from tests.unit.broker.groups.consumer.desk import GROUP, Desk

_COOPERATIVE = 1


@dataclass(slots=True)
class ClassicClient:
    name: str
    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


class ClassicClients:
    """Commands of a story. A request that waits is answered by what a later command leads to."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._clients: dict[str, ClassicClient] = {}

    @property
    def desk(self) -> Desk:
        raise NotImplementedError

    @property
    def words(self) -> Words:
        raise NotImplementedError

    def _client(self, name: str) -> ClassicClient:
        return self._clients.setdefault(name, ClassicClient(name))

    def _do_classic(self, name: str, *arguments: str) -> None:
        client = self._client(name)
        options = dict(each.split("=", 1) for each in arguments if "=" in each)
        client.instance_id = options.get("instance", client.instance_id)
        topics = [each for each in arguments if "=" not in each]
        body = m.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            protocol_type="consumer",
            protocols=[
                m.JoinGroupRequestProtocol(
                    name="sticky", metadata=_subscription(topics, options.get("owned", ""))
                )
            ],
        )

        def answered(response: m.JoinGroupResponse) -> None:
            code = ErrorCode(response.error_code)
            if response.member_id:
                client.member_id = response.member_id
                self.words.names[response.member_id] = name
            if code is ErrorCode.MEMBER_ID_REQUIRED:
                self._do_classic(name, *arguments)
                return
            if code:
                self._said.append(f"{name}: {code.name}")
                return
            client.generation = response.generation_id
            leads = ", leads" if response.leader == response.member_id else ""
            self._said.append(f"{name}: generation {response.generation_id}{leads}")

        who = GroupClient(name, "/10.0.0.2")
        self._ask(
            lambda machine, ticket, now: machine.join_group(ticket, body, 9, who, now), answered
        )

    def _do_sync(self, name: str, *assignments: str) -> None:
        self._do_assign(name, *assignments)

    def _do_assign(self, name: str, *assignments: str) -> None:
        client = self._client(name)
        body = m.SyncGroupRequest(
            group_id=GROUP,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            protocol_type="consumer",
            protocol_name="sticky",
            assignments=[
                m.SyncGroupRequestAssignment(
                    member_id=self._client(each.split("=")[0]).member_id,
                    assignment=_assignment(each.split("=")[1]),
                )
                for each in assignments
            ],
        )

        def answered(response: m.SyncGroupResponse) -> None:
            if response.error_code:
                self._said.append(f"{name}: {ErrorCode(response.error_code).name}")
                return
            assigned = read_assignment(response.assignment).assigned_partitions
            listed = [
                f"{topic.topic}-{number}" for topic in assigned for number in topic.partitions
            ]
            self._said.append(f"{name}: assigned {' '.join(listed) or 'nothing'}")

        self._ask(lambda machine, ticket, now: machine.sync_group(ticket, body, now), answered)

    def _do_hello(self, name: str) -> None:
        client = self._client(name)
        body = m.HeartbeatRequest(
            group_id=GROUP,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
        )
        self._ask(
            lambda machine, ticket, now: machine.heartbeat(ticket, body, now),
            lambda response: self._said.append(f"{name}: {ErrorCode(response.error_code).name}"),
        )

    def _do_bye(self, name: str) -> None:
        client = self._client(name)
        leaver = m.MemberIdentity(member_id=client.member_id, group_instance_id=client.instance_id)
        body = m.LeaveGroupRequest(group_id=GROUP, members=[leaver])
        self._ask(
            lambda machine, ticket, now: machine.leave_group(ticket, body, now),
            lambda response: self._said.append(
                f"{name}: left, {ErrorCode(response.members[0].error_code).name}"
            ),
        )

    def _do_restart(self, name: str) -> None:
        """A new process: it has no member id."""
        self._clients[name] = ClassicClient(name, instance_id=self._client(name).instance_id)

    def _ask(self, run: Any, answered: Any) -> None:
        ticket = Ticket()
        self.desk.waiting[ticket] = answered
        self.desk.take(run(self.desk.machine, ticket, self.desk.now))


def _subscription(topics: list[str], owned: str) -> bytes:
    partitions: dict[str, list[int]] = {}
    for each in filter(None, owned.split(",")):
        topic, number = each.rsplit("-", 1)
        partitions.setdefault(topic, []).append(int(number))
    value = m.ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[
            m.ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in partitions.items()
        ],
    )
    encoded = codec.encoder("ConsumerProtocolSubscription", _COOPERATIVE)(value)
    return _COOPERATIVE.to_bytes(2, "big") + b"".join(encoded)


def _assignment(listed: str) -> bytes:
    partitions: dict[str, list[int]] = {}
    for each in filter(None, listed.split(",")):
        topic, number = each.rsplit("-", 1)
        partitions.setdefault(topic, []).append(int(number))
    value = m.ConsumerProtocolAssignment(
        assigned_partitions=[
            m.ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in partitions.items()
        ]
    )
    encoded = codec.encoder("ConsumerProtocolAssignment", _COOPERATIVE)(value)
    return _COOPERATIVE.to_bytes(2, "big") + b"".join(encoded)
