"""Plays a story of one classic group `g`: clients, their requests, time, and changes of leaders.

settings group_max_size=2          before anything else
join a [version=5] [instance=i] [protocols=range:x,sticky:y] [type=consumer] [session=10]
       [rebalance=60]              a JoinGroup with the id that the client has
enter a ...                        the same; and again, if it is asked to come with an id
sync a [a=p0 b=p1]                 a SyncGroup, with the assignments that a leader brings
cooperative a p0 p1 p2             a SyncGroup of a leader that assigns by what members own
beat a | leave a b | dismiss i     `dismiss` is a LeaveGroup by instance id
commit a p 5                       an offset, as a member of the generation that it knows
restart a                          a client without member id; `a'` is the process before
wait 10 | beat a b every 3 for 30  seconds
refuse NOT_ENOUGH_REPLICAS | accept   what the log does with appends
fail over | describe | list | delete
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from broker.coordination.step import CoordinatorRecord
from broker.groups.group import GroupClient
from broker.groups.machine import GroupMachine
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.golden.groups.classic import cooperative, words
from tests.golden.groups.shell import Shell

GROUP = "g"


@dataclass
class Client:
    name: str
    member_id: str = ""
    generation: int = -1
    instance: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    owned: str | None = None
    """Metadata of a cooperative client: what it owns, by its last assignment."""
    joined: m.JoinGroupResponse | None = None


class Story:
    def __init__(self, make_machine: Callable[..., GroupMachine] = GroupMachine) -> None:
        self._make_machine = make_machine
        self._shell: Shell | None = None
        self._clients: dict[str, Client] = {}
        self._said: list[str] = []
        self._settings = GroupSettings()

    @property
    def shell(self) -> Shell:
        if self._shell is None:
            self._shell = Shell(self._settings, {"t": 3}, self._make_machine)
            self._shell.on_record = self._recorded
        return self._shell

    def interpret(self, lines: list[str]) -> list[str]:
        self._said = []
        for line in lines:
            before = self._state()
            command, *words_of = line.split()
            getattr(self, f"_do_{command}")(*words_of)
            if self._state() != before:
                self._said.append(f"{GROUP}: {self._state()}")
        return self._said

    def _state(self) -> str:
        group = self.shell.machine.groups.get(GROUP) if self._shell else None
        return "none" if group is None else group.state_name

    def _recorded(self, record: CoordinatorRecord) -> None:
        self._said.append(words.record(record))

    def _client(self, name: str) -> Client:
        return self._clients.setdefault(name, Client(name))

    def _ask(self, client: Client, what: str, run: Any, then: Any = None) -> None:
        def answered(response: Any) -> None:
            if then is not None and not isinstance(response, ErrorCode):
                then(response)
            self._said.append(f"{client.name} {what}: {words.answer(response)}")

        self.shell.ask(run, answered)

    # Commands

    def _do_settings(self, *pairs: str) -> None:
        changes = {name: int(value) for name, _, value in (each.partition("=") for each in pairs)}
        self._settings = replace(self._settings, **changes)  # type: ignore[arg-type]
        if self._shell is not None:
            self._shell.settings = self._settings

    def _do_join(self, name: str, *options: str) -> None:
        client = self._client(name)
        client.fields |= dict(each.split("=", 1) for each in options)
        client.instance = client.fields.get("instance", client.instance)
        body, version = self._join_request(client), int(client.fields.get("version", "9"))

        def joined(response: m.JoinGroupResponse) -> None:
            if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                client.member_id = response.member_id
            if not response.error_code:
                client.generation, client.joined = response.generation_id, response

        origin = GroupClient(client.name, "/10.0.0.1")
        self._ask(
            client,
            "joins",
            lambda machine, ticket, now: machine.join_group(ticket, body, version, origin, now),
            joined,
        )

    def _join_request(self, client: Client) -> m.JoinGroupRequest:
        fields = client.fields
        default = f"range:{client.name}" if client.owned is None else f"coop:{client.owned}"
        protocols = [each.partition(":") for each in fields.get("protocols", default).split(",,")]
        return m.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=int(fields.get("session", "10")) * 1000,
            rebalance_timeout_ms=int(fields.get("rebalance", "60")) * 1000,
            member_id=client.member_id,
            group_instance_id=client.instance,
            protocol_type=fields.get("type", "consumer"),
            protocols=[
                m.JoinGroupRequestProtocol(name=name, metadata=metadata.encode())
                for name, _, metadata in protocols
            ],
        )

    def _do_enter(self, name: str, *options: str) -> None:
        client = self._client(name)
        had_id = bool(client.member_id)
        if "cooperative" in options:
            client.owned = client.owned or "-1:"
            options = tuple(each for each in options if each != "cooperative")
        self._do_join(name, *options)
        if not had_id and client.member_id and client.generation < 0:
            asked = f"{name} joins: MEMBER_ID_REQUIRED"
            self._said = [each for each in self._said if not each.startswith(asked)]
            self._do_join(name)

    def _do_sync(self, name: str, *given: str) -> None:
        pairs = (each.split("=", 1) for each in given)
        self._sync(self._client(name), {self._client(to).member_id: what for to, what in pairs})

    def _do_cooperative(self, name: str, *partitions: str) -> None:
        client = self._client(name)
        assert client.joined is not None
        members = {each.member_id: each.metadata.decode() for each in client.joined.members}
        given = cooperative.assign(members, partitions)
        self._sync(client, {to: ",".join(what) for to, what in given.items()})

    def _sync(self, client: Client, given: dict[str, str]) -> None:
        body = m.SyncGroupRequest(
            group_id=GROUP,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance,
            assignments=[
                m.SyncGroupRequestAssignment(member_id=to, assignment=what.encode())
                for to, what in given.items()
            ],
        )

        def synced(response: m.SyncGroupResponse) -> None:
            if client.owned is not None and not response.error_code:
                client.owned = f"{client.generation}:{response.assignment.decode()}"

        self._ask(
            client,
            "syncs",
            lambda machine, ticket, now: machine.sync_group(ticket, body, now),
            synced,
        )

    def _do_beat(self, *names: str) -> None:
        if "every" not in names:
            for name in names:
                self._beat(self._client(name), "beats")
            return
        *beating, _, interval, _, duration = names
        said = self._said
        for _ in range(int(duration) // int(interval)):
            self.shell.pass_time(int(interval))
            for name in beating:
                self._said = []
                self._beat(self._client(name), "beats")
                if self._said != [f"{name} beats: fine"]:
                    said += self._said
                self._said = said

    def _beat(self, client: Client, what: str) -> None:
        body = m.HeartbeatRequest(
            group_id=GROUP,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance,
        )
        self._ask(client, what, lambda machine, ticket, now: machine.heartbeat(ticket, body, now))

    def _do_leave(self, *names: str) -> None:
        clients = [self._client(name) for name in names]
        self._leave(
            clients[0],
            [
                m.MemberIdentity(member_id=each.member_id, group_instance_id=each.instance)
                for each in clients
            ],
        )

    def _do_dismiss(self, *instances: str) -> None:
        members = [m.MemberIdentity(member_id="", group_instance_id=each) for each in instances]
        self._leave(Client("admin"), members)

    def _leave(self, client: Client, members: list[m.MemberIdentity]) -> None:
        body = m.LeaveGroupRequest(group_id=GROUP, members=members)
        self._ask(
            client, "leaves", lambda machine, ticket, now: machine.leave_group(ticket, body, now)
        )

    def _do_commit(self, name: str, partition: str, offset: str) -> None:
        client = self._client(name)
        part = m.OffsetCommitRequestPartition(
            partition_index=int(partition.removeprefix("p")), committed_offset=int(offset)
        )
        body = m.OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance,
            topics=[m.OffsetCommitRequestTopic(name="t", partitions=[part])],
        )
        self._ask(
            client,
            f"commits {partition}",
            lambda machine, ticket, now: machine.offset_commit(ticket, body, 9, now),
        )

    def _do_restart(self, name: str) -> None:
        old = self._client(name)
        old.name = f"{name}'"
        owned = None if old.owned is None else "-1:"
        new = Client(name, instance=old.instance, fields=dict(old.fields), owned=owned)
        self._clients[old.name], self._clients[name] = old, new

    def _do_wait(self, seconds: str) -> None:
        self.shell.pass_time(float(seconds))

    def _do_refuse(self, code: str) -> None:
        self.shell.refusal = ErrorCode[code]

    def _do_accept(self) -> None:
        self.shell.refusal = ErrorCode.NONE

    def _do_fail(self, _over: str) -> None:
        self.shell.fail_over()

    def _do_describe(self) -> None:
        def answered(group: m.DescribeGroupsResponseDescribedGroup) -> None:
            kind = f"{group.group_state} {group.protocol_type} {group.protocol_data}"
            self._said.append(kind.strip())
            for each in group.members:
                instance = f" ({each.group_instance_id})" if each.group_instance_id else ""
                data, given = words.text(each.member_metadata), words.text(each.member_assignment)
                self._said.append(f"  {each.member_id}{instance}: has {given}, sent {data}")

        self.shell.ask(
            lambda machine, ticket, now: machine.describe_group(ticket, GROUP, 6), answered
        )

    def _do_list(self, *filters: str) -> None:
        kinds = {"classic", "consumer"}
        states = [each for each in filters if each.lower() not in kinds]
        types = [each for each in filters if each.lower() in kinds]

        def answered(groups: list[m.ListedGroup]) -> None:
            self._said += [
                f"{each.group_id} {each.group_type} {each.group_state} {each.protocol_type}".strip()
                for each in groups
            ] or ["no groups"]

        self.shell.ask(
            lambda machine, ticket, now: machine.list_groups(ticket, states, types), answered
        )

    def _do_delete(self) -> None:
        def answered(code: ErrorCode) -> None:
            self._said.append(f"delete: {code.name}")

        self.shell.ask(lambda machine, ticket, now: machine.delete_group(ticket, GROUP), answered)
