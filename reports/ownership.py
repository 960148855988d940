"""Who owned which partition when, in a run with consumer groups: a pure function of its history.

Ownership is what members were told: it begins with `assigned` and ends with `revoked`, `lost`, the
death of the process, or the run. Two overlaps are told apart. In one generation a partition has one
owner, so a second one is guilty; this is the rule of the checker `two-owners`. A member that was
thrown out without its knowledge, for example while it stood still, still holds partitions that a
later generation gave to others. That is stale, and allowed: its commits are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from harness.history.op import BACKGROUND, NEMESIS, Op, foreground_process
from reports.partition_ranges import ranges

REFUSALS: Final = frozenset({
    "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH", "REBALANCE_IN_PROGRESS",
})  # fmt: skip
"""Errors by which a coordinator refuses the commit of a member that is none, or not any more."""
_ABSENCES = {"kill_client": "killed", "pause_client": "paused", "idle_client": "not polling"}

EventKind = Literal["joined", "left", "killed", "ended", "lost", "refused"]


@dataclass(frozen=True, slots=True)
class Owned:
    """One partition of one member, from its assignment to the end of it."""

    key: str
    generation: int | None
    begin_ns: int
    end_ns: int
    process: int
    index: int
    """The row of the assignment."""
    end: str = "the run ended"
    """How it ended."""


@dataclass(frozen=True, slots=True)
class Life:
    """From a subscription to the end of it: one member id, unless the member is static."""

    begin_ns: int
    end_ns: int
    process: int
    instance: str | None = None
    """group.instance.id of a static member."""
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    time_ns: int
    kind: EventKind
    told: str


@dataclass(frozen=True, slots=True)
class Absence:
    """A fault of this one client."""

    word: str
    begin_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """A partition with two owners at once."""

    key: str
    holder: str
    taker: str
    generations: tuple[int | None, int | None]
    begin_ns: int
    end_ns: int
    is_guilty: bool
    indices: tuple[int, int]
    """The rows of the two assignments."""


@dataclass(slots=True)
class Member:
    """One client in one group, with all its lives and processes."""

    client: str
    lives: list[Life] = field(default_factory=list)
    owned: list[Owned] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    absences: list[Absence] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    name: str
    strategy: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    overlaps: list[Overlap] = field(default_factory=list)

    @property
    def generation_word(self) -> str:
        return "member epoch" if self.strategy == "consumer" else "generation"


@dataclass(frozen=True, slots=True)
class Replaced:
    """A process whose client went on as another: it says nothing of its own end."""

    last_ns: int
    """Of its last row."""
    next_ns: int
    """Of the first row of the process that took its place."""


def groups_of(
    rows: Sequence[Op], clients: int, end_ns: int, replaced: Mapping[int, Replaced] | None = None
) -> list[Group]:
    """`rows` in the order of the history; those that do not concern groups are ignored.

    `clients`: process `n` is of client `n % clients`; 0 if not known, then each is its own client.
    `replaced`: by process. Its membership ends when it was killed, or else with its last row.
    """
    found = _Reading(clients, end_ns)
    kills = list(_kills(rows))
    for process, each in (replaced or {}).items():
        at = (time_ns for client, time_ns in kills if client == found.client(process))
        inside = (time_ns for time_ns in at if each.last_ns <= time_ns <= each.next_ns)
        found.ends[process] = min(inside, default=each.last_ns)
    for op in rows:
        found.end_until(op.time_ns)
        found.take(op)
    return found.finished()


def _kills(rows: Iterable[Op]) -> Iterator[tuple[str, int]]:
    """Clients that were killed, and when it was proved."""
    struck: dict[str, str] = {}
    for op in rows:
        value = op.value if op.process == NEMESIS and isinstance(op.value, Mapping) else {}
        if value.get("kind") == "kill_client" and "name" in value:
            struck[str(value["name"])] = str(value.get("client"))
        elif "proof" in value and str(value.get("fault")) in struck:
            yield struck[str(value["fault"])], op.time_ns


@dataclass(slots=True)
class _Seat:
    """A process that is a member right now."""

    group: Group
    member: Member
    life: Life
    held: dict[str, Owned] = field(default_factory=dict)


class _Reading:
    def __init__(self, clients: int, end_ns: int) -> None:
        self._clients, self._end_ns = clients, end_ns
        self.ends: dict[int, int] = {}
        """When processes ended that others replaced."""
        self._groups: dict[str, Group] = {}
        self._seats: dict[int, _Seat] = {}
        self._latest: dict[str, int] = {}
        """By client: its newest process that was a member."""
        self._holders: dict[tuple[str, int, str], tuple[int, str | None, Owned]] = {}
        """By group, generation and key, as the checker `two-owners` keeps them."""
        self._overlaps: list[tuple[Group, Overlap, int, int]] = []
        self._faults: dict[str, tuple[str, str, int]] = {}
        """By fault that is not healed: its client, its word, and when its injection began in ns."""
        self._absences: dict[str, list[Absence]] = {}

    def end_until(self, time_ns: int) -> None:
        """Ends the members whose processes ended before this time."""
        for process in [each for each in self._seats if self.ends.get(each, time_ns) < time_ns]:
            self._end(process, self.ends[process], "ended", "another process took its place")

    def take(self, op: Op) -> None:
        value: Mapping[str, Any] = op.value if isinstance(op.value, Mapping) else {}
        if op.process == NEMESIS:
            self._take_fault(op, value)
        elif op.process >= BACKGROUND or op.f == "commit":
            self._take_commit(op, value)
        elif op.type == "info":
            self._end_unknown(op)
        elif op.type != "ok":
            return
        elif op.f == "subscribe" and isinstance(value.get("group"), str):
            self._sit_down(op, value)
        elif op.f == "leave":
            self._end(op.process, op.time_ns, "left", "")
        elif op.f in ("assigned", "revoked", "lost") and isinstance(value.get("keys"), list):
            self._take_change(op, value)

    def finished(self) -> list[Group]:
        self.end_until(self._end_ns)
        for process in list(self._seats):
            self._close(process, self._end_ns, "the run ended")
        ends = {
            (owned.index, owned.key): owned.end_ns
            for group in self._groups.values()
            for member in group.members.values()
            for owned in member.owned
        }
        for group, overlap, one, other in self._overlaps:
            end_ns = min(ends[one, overlap.key], ends[other, overlap.key])
            group.overlaps.append(replace(overlap, end_ns=max(overlap.begin_ns, end_ns)))
        for group in self._groups.values():
            for member in group.members.values():
                member.absences += self._absences.get(member.client, [])
        for client, word, begin_ns in self._faults.values():
            for group in self._groups.values():
                if client in group.members:
                    group.members[client].absences.append(Absence(word, begin_ns, self._end_ns))
        return list(self._groups.values())

    # Members come and go

    def client(self, process: int) -> str:
        return f"c{process % self._clients + 1}" if self._clients else f"p{process}"

    def _seat(self, process: int, time_ns: int, name: str, instance: str | None = None) -> _Seat:
        group = self._groups.setdefault(name, Group(name))
        client = self.client(process)
        member = group.members.setdefault(client, Member(client))
        before = self._latest.get(client)
        if before is not None and before != process:
            self._end(before, time_ns, "ended", "another process took its place")
        self._latest[client] = process
        life = Life(time_ns, self._end_ns, process, instance)
        self._seats[process] = _Seat(group, member, life)
        return self._seats[process]

    def _sit_down(self, op: Op, value: Mapping[str, Any]) -> None:
        self._close(op.process, op.time_ns, "it subscribed again")
        instance = value.get("instance")
        instance = instance if isinstance(instance, str) else None
        seat = self._seat(op.process, op.time_ns, value["group"], instance)
        seat.group.strategy = value.get("strategy") or seat.group.strategy
        static = f" as the static member {instance}" if instance else ""
        seat.member.events.append(Event(op.time_ns, "joined", f"process {op.process}{static}"))

    def _end(self, process: int, time_ns: int, kind: EventKind, told: str) -> None:
        seat = self._seats.get(process)
        if seat is not None:
            seat.member.events.append(Event(time_ns, kind, told))
            self._close(process, time_ns, kind)

    def _end_unknown(self, op: Op) -> None:
        """A process ends with an operation of unknown outcome: killed, if a kill is under way."""
        client = self.client(op.process)
        is_killed = any(each[:2] == (client, "killed") for each in self._faults.values())
        told = f"{op.f}: {op.error or 'outcome unknown'}"
        self._end(op.process, op.time_ns, "killed" if is_killed else "ended", told)

    def _close(self, process: int, time_ns: int, how: str) -> None:
        seat = self._seats.pop(process, None)
        if seat is None:
            return
        seat.member.lives.append(replace(seat.life, end_ns=time_ns))
        for owned in seat.held.values():
            seat.member.owned.append(replace(owned, end_ns=time_ns, end=how))

    # What the group did to them

    def _take_change(self, op: Op, value: Mapping[str, Any]) -> None:
        name, generation = value.get("group"), value.get("generation")
        seat = self._seats.get(op.process)
        if seat is None and op.f == "assigned" and isinstance(name, str):
            seat = self._seat(op.process, op.time_ns, name)
        if seat is None:
            return
        keys = [str(key) for key in value["keys"]]
        if op.f == "assigned":
            for key in keys:
                self._give(seat, op, key, generation if type(generation) is int else None)
            return
        for key in keys:
            self._drop(seat, op, key)
        if op.f == "lost" and keys:
            seat.member.events.append(Event(op.time_ns, "lost", f"of {', '.join(ranges(keys))}"))

    def _drop(self, seat: _Seat, op: Op, key: str) -> None:
        for at in [each for each in self._holders if each[0] == seat.group.name and each[2] == key]:
            if self._holders[at][0] == op.process:
                del self._holders[at]
        owned = seat.held.pop(key, None)
        if owned is not None:
            seat.member.owned.append(replace(owned, end_ns=op.time_ns, end=op.f))

    def _give(self, seat: _Seat, op: Op, key: str, generation: int | None) -> None:
        given = Owned(key, generation, op.time_ns, self._end_ns, op.process, op.index)
        before = seat.held.pop(key, None)
        if before is not None:  # the same again, as an eager group without a revocation gives it
            seat.member.owned.append(replace(before, end_ns=op.time_ns, end="assigned again"))
        instance = seat.life.instance
        guilty: Owned | None = None
        if generation is not None:
            at = (seat.group.name, generation, key)
            process, was, owned = self._holders.get(at, (op.process, instance, given))
            if (was or process) != (instance or op.process):
                guilty = owned
                self._overlap(seat, guilty, given, is_guilty=True)
            self._holders[at] = (op.process, instance, given)
        for other in self._seats.values():
            stale = other.held.get(key) if other.group is seat.group else None
            if stale is not None and stale is not guilty:
                self._overlap(seat, stale, given, is_guilty=False)
        seat.held[key] = given

    def _overlap(self, seat: _Seat, holder: Owned, taker: Owned, *, is_guilty: bool) -> None:
        made = Overlap(
            taker.key, self.client(holder.process), seat.member.client,
            (holder.generation, taker.generation), taker.begin_ns, taker.begin_ns, is_guilty,
            (holder.index, taker.index),
        )  # fmt: skip
        self._overlaps.append((seat.group, made, holder.index, taker.index))

    def _take_commit(self, op: Op, value: Mapping[str, Any]) -> None:
        seat = self._seats.get(foreground_process(op.process))
        if seat is None:
            return
        if isinstance(value.get("member"), str):
            seat.life = replace(seat.life, member=value["member"])
        error = (op.error or "").partition(":")[0]
        if op.type == "fail" and error in REFUSALS:
            seat.member.events.append(Event(op.time_ns, "refused", error))
        elif op.type == "info" and op.process < BACKGROUND:
            self._end_unknown(op)

    # What broke them

    def _take_fault(self, op: Op, value: Mapping[str, Any]) -> None:
        client, kind = value.get("client"), value.get("kind")
        if isinstance(client, str) and kind in _ABSENCES:
            word = "away" if value.get("leaves") else _ABSENCES[kind]
            self._faults[str(value.get("name"))] = (client, word, op.time_ns)
            return
        name = str(value.get("fault"))
        if name not in self._faults:
            return
        client, word, begin_ns = self._faults[name]
        if "proof" in value and word == "killed" and client in self._latest:
            self._end(self._latest[client], op.time_ns, "killed", str(value["proof"]))
        elif "missed" in value or "skipped" in value:
            del self._faults[name]
        elif value.get("healed"):
            del self._faults[name]
            absence = Absence(word, begin_ns, op.time_ns)
            self._absences.setdefault(client, []).append(absence)
