"""Carries out the steps of a GroupMachine as a shard does, on a log in memory and a clock by hand.

Everything is committed at once. A step is refused as a whole when the log takes no appends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.coordination.step import CoordinatorRecord, Now, Step, Ticket
from broker.groups.machine import GroupMachine
from broker.groups.settings import GroupSettings
from broker.protocol.errors import ErrorCode

WALL_MS = 1_700_000_000_000
_TICKS_MAX = 1000


@dataclass
class Topics:
    """Implements `TopicsView`: topics by the number of their partitions."""

    counts: dict[str, int] = field(default_factory=dict)
    version: int = 0

    def partition_count(self, topic: str) -> int | None:
        return self.counts.get(topic)

    def topic_id(self, topic: str) -> bytes | None:
        return topic.encode().ljust(16, b"\0") if topic in self.counts else None

    def topic_name(self, topic_id: bytes) -> str | None:
        name = topic_id.rstrip(b"\0").decode()
        return name if name in self.counts else None

    def names(self) -> Sequence[str]:
        return sorted(self.counts)

    def racks(self, topic: str, partition: int) -> Sequence[str]:
        return []


class Shell:
    """`on_reply` is called with each answer, in order; `on_record` with each record appended."""

    def __init__(
        self,
        settings: GroupSettings,
        topics: Mapping[str, int] | None = None,
        make_machine: Callable[..., GroupMachine] = GroupMachine,
    ) -> None:
        self.settings = settings
        self.topics = Topics(dict(topics or {}))
        self.log: list[CoordinatorRecord] = []
        self.now_s = 0.0
        self.refusal = ErrorCode.NONE
        self.waiting: dict[Ticket, Callable[[Any], None]] = {}
        self.on_record: Callable[[CoordinatorRecord], None] = lambda record: None
        self._make_machine = make_machine
        self._ids = 0
        self.machine = self._new_machine()

    @property
    def now(self) -> Now:
        return Now(self.now_s, WALL_MS + int(self.now_s * 1000))

    def _new_machine(self) -> GroupMachine:
        return self._make_machine(self.settings, self.topics, self._next_id)

    def _next_id(self) -> str:
        self._ids += 1
        return str(self._ids)

    def ask(
        self, run: Callable[[GroupMachine, Ticket, Now], Step], answered: Callable[[Any], None]
    ) -> None:
        ticket = Ticket()
        self.waiting[ticket] = answered
        self.carry_out(run(self.machine, ticket, self.now))

    def carry_out(self, step: Step) -> None:
        if step.records and self.refusal:
            assert step.refused is not None, "a step with records that cannot be refused"
            step = step.refused(self.refusal, self.now)
            assert not step.records, "what follows a refusal needs another append"
        for record in step.records:
            self.log.append(record)
            self.machine.replay(record)
            self.on_record(record)
        for reply in step.replies:
            self._answer(reply.ticket, reply.response)

    def _answer(self, ticket: Ticket, response: Any) -> None:
        assert ticket in self.waiting, "a request is answered twice"
        self.waiting.pop(ticket)(response)

    def pass_time(self, seconds: float) -> None:
        """Every timer runs at its own time."""
        end_s = self.now_s + seconds
        ticks = 0
        while (deadline_s := self.machine.deadline_s) is not None and deadline_s <= end_s:
            ticks = ticks + 1 if deadline_s <= self.now_s else 0
            assert ticks < _TICKS_MAX, "time stands still"
            self.now_s = max(self.now_s, deadline_s)
            self.carry_out(self.machine.tick(self.now))
        self.now_s = end_s

    def fail_over(self, records: Iterable[CoordinatorRecord] | None = None) -> None:
        """Another node takes over with this log. What waits is answered with the error itself."""
        assert self.machine.tickets() == list(self.waiting), "a waiting request is not known"
        for ticket in self.machine.tickets():
            self._answer(ticket, ErrorCode.NOT_COORDINATOR)
        if records is not None:
            self.log = list(records)
        self.machine = self._new_machine()
        for record in self.log:
            self.machine.replay(record)
        self.carry_out(self.machine.loaded(self.now))
