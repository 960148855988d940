"""What a coordinator's state machine is asked, and what it answers: no I/O, no clock of its own.

A coordinator owns one partition of an internal topic. Its lasting state is exactly what a replay of
that partition gives: `Machine.replay` is the only function that changes it, and the live path calls
the same function with the records that it has just appended. A state that is built live and one
that is loaded after a change of leaders therefore cannot differ.

State that no record holds (members that are joining, sessions, timers) is lost with the leadership
and may be changed by a step directly.

One step: the shell calls a method of the machine, which returns a `Step`. The shell appends
`records` as one batch, replays them, and releases `replies` when the high watermark has passed
everything appended so far, so no answer reveals a state that a failover can take back. If the
append is refused, nothing was changed by it: the replies are dropped and `refused` says what
follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode


class Now(NamedTuple):
    """The two clocks of a step."""

    loop_s: float
    """Monotonic, for sessions and timers."""
    wall_ms: int
    """For timestamps that are stored: it may jump."""


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


class CoordinatorRecord(NamedTuple):
    key: bytes
    value: bytes | None
    """None: a tombstone."""
    producer: ProducerIdAndEpoch | None = None
    """Of the transaction that the record is part of: it counts when the transaction commits."""


class Ticket:
    """Stands for one request that waits for its reply. Compared by identity."""

    __slots__ = ()


class Reply(NamedTuple):
    ticket: Ticket
    response: Any
    """The body of the response. The handler that submitted the request knows its type."""


Refused = Callable[[ErrorCode, Now], "Step"]


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """A marker: what its producer wrote since its last marker counts from now on, or never."""

    producer: ProducerIdAndEpoch
    marker: EndTransactionMarker


@dataclass(slots=True)
class Step:
    records: list[CoordinatorRecord] = field(default_factory=list)
    """All of one transaction, or of none."""
    replies: list[Reply] = field(default_factory=list)
    refused: Refused | None = None
    """What follows when the records could not be appended: the replies that say so, and the
    soft state put back. A step with records and replies has one."""
    is_atomic: bool = True
    """False for records that may be split over several batches, because each stands alone."""
    ends: TransactionEnd | None = None
    """The marker that a step without records writes. It is asked for with `Shard.ask_alone`."""

    @property
    def writes(self) -> bool:
        return bool(self.records) or self.ends is not None


class Machine(Protocol):
    """One partition's state machine."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Applies a record of the log. Never raises for an unknown key or an odd order: compaction
        may have taken the records before it."""
        ...

    def loaded(self, now: Now) -> Step:
        """The whole partition was replayed and this node leads it: sessions begin anew."""
        ...

    @property
    def deadline_s(self) -> float | None:
        """Loop time at which `tick` has something to do."""
        ...

    def tick(self, now: Now) -> Step:
        """Carries out what is due: expired sessions, rebalances that waited long enough."""
        ...

    def tickets(self) -> list[Ticket]:
        """Requests that wait for something else than an append, in the order of their arrival.
        The shell answers them NOT_COORDINATOR when the leadership ends."""
        ...


@runtime_checkable
class TransactionalMachine(Protocol):
    """A machine whose records may be part of transactions. Others never see a marker."""

    def end_transaction(self, end: TransactionEnd) -> None:
        """Replays a marker, under the same rules as `Machine.replay`."""
        ...


def reply(ticket: Ticket, response: object) -> Step:
    """A step that changes nothing stored."""
    return Step(replies=[Reply(ticket, response)])


def in_turn(*steps: Step) -> Step:
    """All of them as one. If it is refused, the replies of steps without records still hold."""

    def refused(code: ErrorCode, now: Now) -> Step:
        return in_turn(*(_refused(each, code, now) for each in steps))

    records = [record for each in steps for record in each.records]
    return Step(
        records,
        [answer for each in steps for answer in each.replies],
        refused if records or any(each.refused is not None for each in steps) else None,
        all(each.is_atomic for each in steps),
    )


def _refused(step: Step, code: ErrorCode, now: Now) -> Step:
    if step.refused is not None:
        return step.refused(code, now)
    return Step() if step.records else step
