"""Random clients of one classic group: mostly they do what a client does, and sometimes anything.

A client may miss an answer, which is a lost connection: it knows only what it has heard. It may
send what it knew earlier, and it may start again without knowing anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from broker.groups.group import GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.golden.groups.shell import Shell

GROUP = "g"
TOPIC = "t"

_VERSIONS = (0, 3, 4, 5, 8, 9)
_PROTOCOLS = ("range", "sticky", "own")
_FIRST_VERSION_WITH_INSTANCES = 5


@dataclass(frozen=True)
class Sent:
    """One request, for the ghost that looks on."""

    what: str
    client: Client
    member_id: str
    instance: str | None
    generation: int


@dataclass(eq=False)
class Client:
    name: str
    random: Random
    shell: Shell
    saw: Callable[[Sent, Any], None]
    instance: str | None = None
    version: int = 9
    protocols: tuple[str, ...] = ("range",)
    metadata: bytes = b""
    session_ms: int = 10_000
    rebalance_ms: int = 30_000

    member_id: str = ""
    generation: int = -1
    joined: m.JoinGroupResponse | None = None
    assignment: bytes | None = None
    waits_for: str | None = None
    """The request without an answer; the client sends no other one but heartbeats meanwhile."""
    knew: list[tuple[str, int]] = field(default_factory=list)
    hears: float = 1.0
    """How likely it is that an answer arrives."""

    @staticmethod
    def drawn(name: str, random: Random, shell: Shell, saw: Callable[[Sent, Any], None]) -> Client:
        is_static = random.random() < 0.4
        client = Client(name, random, shell, saw, instance=f"i{name}" if is_static else None)
        client.version = random.choice(_VERSIONS[3:] if is_static else _VERSIONS)
        client.session_ms = random.choice((6_000, 10_000, 20_000))
        client.rebalance_ms = random.choice((5_000, 30_000))
        client.change_mind()
        return client

    def change_mind(self) -> None:
        """Other protocols: `range` is nearly always one of them."""
        chosen = [name for name in _PROTOCOLS if self.random.random() < 0.5]
        if self.random.random() < 0.95 and "range" not in chosen:
            chosen.append("range")
        self.random.shuffle(chosen)
        self.protocols = tuple(chosen)
        self.metadata = bytes([self.random.randrange(256)])

    def start_again(self) -> None:
        self.knew.append((self.member_id, self.generation))
        self.member_id, self.generation = "", -1
        self.joined = self.assignment = self.waits_for = None

    # Requests

    def goes_on(self) -> None:
        """What a client does next."""
        if self.waits_for == "join":
            return
        if self.joined is None:
            self.join()
        elif self.assignment is None:
            if self.waits_for is None:
                self.sync()
        elif self.random.random() < 0.3:
            self.commit()
        else:
            self.beat()

    def _ask(self, what: str, run: Any, heard: Callable[[Any], None]) -> None:
        sent = Sent(what, self, self.member_id, self.instance, self.generation)
        life = self.joined, self.member_id

        def answered(response: Any) -> None:
            self.saw(sent, response)
            if self.random.random() < self.hears and life == (self.joined, self.member_id):
                if self.waits_for == what:
                    self.waits_for = None
                heard(response)

        if what in ("join", "sync"):
            self.waits_for = what
        self.shell.ask(run, answered)

    def join(self) -> None:
        body = m.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[
                m.JoinGroupRequestProtocol(name=name, metadata=self.metadata)
                for name in self.protocols
            ],
        )
        origin = GroupClient(self.name, "/h")
        version = self.version
        self.joined = self.assignment = None
        self._ask(
            "join",
            lambda machine, ticket, now: machine.join_group(ticket, body, version, origin, now),
            self._joined,
        )

    def _joined(self, response: Any) -> None:
        match _code(response):
            case ErrorCode.NONE:
                self.joined = response
                self.knew.append((self.member_id, self.generation))
                self.member_id, self.generation = response.member_id, response.generation_id
            case ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                self.join()
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.FENCED_INSTANCE_ID:
                self.start_again()
            case ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
                self.protocols = ("range",)
            case _:
                pass  # it joins again

    def sync(self) -> None:
        joined = self.joined
        given: list[m.SyncGroupRequestAssignment] = []
        if joined is not None and joined.leader == self.member_id and not joined.skip_assignment:
            given = [
                m.SyncGroupRequestAssignment(
                    member_id=each.member_id,
                    assignment=f"{self.generation}:{self.random.randrange(1000)}".encode(),
                )
                for each in joined.members
                if self.random.random() < 0.95
            ]
        body = m.SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            assignments=given,
        )
        self._ask(
            "sync", lambda machine, ticket, now: machine.sync_group(ticket, body, now), self._synced
        )

    def _synced(self, response: Any) -> None:
        if _code(response):
            self._lost(_code(response))
        else:
            self.assignment = response.assignment

    def _lost(self, code: ErrorCode) -> None:
        self.joined = self.assignment = None
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.start_again()

    def beat(self) -> None:
        body = m.HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        self._ask(
            "beat",
            lambda machine, ticket, now: machine.heartbeat(ticket, body, now),
            lambda response: self._lost(_code(response)) if _code(response) else None,
        )

    def leave(self) -> None:
        identity = m.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)
        body = m.LeaveGroupRequest(group_id=GROUP, members=[identity])
        self._ask(
            "leave",
            lambda machine, ticket, now: machine.leave_group(ticket, body, now),
            lambda response: None,
        )
        self.start_again()

    def commit(self) -> None:
        part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        body = m.OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            topics=[m.OffsetCommitRequestTopic(name=TOPIC, partitions=[part])],
        )
        self._ask(
            "commit",
            lambda machine, ticket, now: machine.offset_commit(ticket, body, 9, now),
            lambda response: None,
        )

    def sends_anything(self) -> None:
        """As a process that was suspended, or a client with a bug."""
        now = self.member_id, self.generation
        if self.knew and self.random.random() < 0.5:
            self.member_id, self.generation = self.random.choice(self.knew[-5:])
        waits_for, self.waits_for = self.waits_for, None
        joined, assignment = self.joined, self.assignment
        self.random.choice((self.join, self.sync, self.beat, self.commit))()
        if (self.member_id, self.generation) != now:
            self.member_id, self.generation = now
            self.joined, self.assignment, self.waits_for = joined, assignment, waits_for


def _code(response: Any) -> ErrorCode:
    """The shell answers with the code itself when the leadership ends."""
    return response if isinstance(response, ErrorCode) else ErrorCode(response.error_code)
