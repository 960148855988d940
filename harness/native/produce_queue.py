"""The batches of one partition on their way, as a pure state machine.

An idempotent producer numbers its batches, and the broker takes them in that order only. It knows
the last five again, so no batch leaves that is more than four behind one that is not settled: even
where answers get lost and later ones arrive. When one fails, nothing new leaves until those that
were sent before are settled, one after the other, each with the numbers it was first sent with.

A number that may be missing in the log for ever (a batch was given up, or the broker says that it
misses an earlier one) makes the producer's identity useless here. Then a new one is taken, once no
batch with an old number is left. A batch changes its numbers only after the broker has said, by
OUT_OF_ORDER_SEQUENCE_NUMBER, that it does not have it: so nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record
from harness.native.errors import DEFINITE_REFUSALS

IN_FLIGHT_MAX = 5
"""The broker remembers as many batches of a producer, to know them again."""

_SEQUENCE_MASK = 0x7FFFFFFF
_MISSING_EARLIER = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
NO_OFFSET = -1


class Identity(NamedTuple):
    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """`offset` of the first record; -1 with acks=0, and for a copy that the broker knew by name."""

    offset: int
    node_id: int | None = field(default=None, compare=False, repr=False)
    """Node that answered."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Certain: none of the tries has written anything."""

    reason: str
    error: ErrorCode | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """At least one of the tries may have written the records."""

    reason: str
    error: ErrorCode | None = None


Outcome = Delivered | Failed | Unknown


@dataclass(slots=True, eq=False)
class Batch:
    records: Sequence[Record]
    identity: Identity | None = None
    sequence: int = -1
    place: int = -1
    """Among all batches of its identity."""
    in_flight: bool = False
    node_id: int | None = None
    """Node that it was sent to last."""
    tries: int = 0
    maybe_written: bool = False
    last_reason: str = "never sent"
    last_error: ErrorCode | None = None

    @property
    def has_number(self) -> bool:
        return self.sequence >= 0


class ProduceQueue:
    def __init__(
        self,
        *,
        idempotent: bool,
        in_flight_max: int = IN_FLIGHT_MAX,
        retries: int | None = None,
        renumbers: bool = True,
    ) -> None:
        """`retries` None: until the batch's time is up. `renumbers`: whether a gap in the numbers
        is overcome by another identity; in a transaction it is the end of the queue."""
        if idempotent and not 1 <= in_flight_max <= IN_FLIGHT_MAX:
            raise ValueError(
                f"{in_flight_max} batches in flight: an idempotent producer may have "
                f"1 to {IN_FLIGHT_MAX}"
            )
        self._idempotent = idempotent
        self._in_flight_max = in_flight_max
        self._retries = retries
        self._renumbers = renumbers
        self._batches: dict[Batch, None] = {}
        self._identity: Identity | None = None
        self._next_sequence = 0
        self._next_place = 0
        self._gap = False
        self.resets = 0

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def batches(self) -> list[Batch]:
        """Not settled yet, in the order in which they were added."""
        return list(self._batches)

    @property
    def needs_identity(self) -> bool:
        if not self._idempotent or not self._batches:
            return False
        if self._identity is None:
            return True
        return self._renumbers and self._gap and self._first_numbered() is None

    def stop_retrying(self) -> None:
        """From now on each batch is settled by the answer to its last try, or by its absence."""
        self._retries = 0

    def add(self, batch: Batch) -> None:
        self._batches[batch] = None

    def take_identity(self, identity: Identity) -> None:
        assert self.needs_identity, "the old numbers are still in use"
        if self._identity is not None:
            self.resets += 1
        self._identity = identity
        self._next_sequence = self._next_place = 0
        self._gap = False

    def sendable(self) -> list[Batch]:
        """What may leave now, in this order."""
        waiting = [batch for batch in self._batches if not batch.in_flight]
        if not self._idempotent:
            in_flight = len(self._batches) - len(waiting)
            return waiting[: max(self._in_flight_max - in_flight, 0)]
        first = self._first_numbered()
        if any(batch.has_number for batch in waiting):
            return [first] if first is not None and not first.in_flight else []
        if self._identity is None or self._gap:
            return []
        ahead = 0 if first is None else self._next_place - first.place
        return waiting[: max(self._in_flight_max - ahead, 0)]

    def sent(self, batch: Batch) -> None:
        """Call it before the bytes are made: it gives the batch its numbers."""
        if self._idempotent and not batch.has_number:
            assert self._identity is not None
            batch.identity = self._identity
            batch.sequence = self._next_sequence
            batch.place = self._next_place
            self._next_place += 1
            self._next_sequence = (self._next_sequence + len(batch.records)) & _SEQUENCE_MASK
        batch.in_flight = True
        batch.tries += 1

    def accepted(self, batch: Batch, offset: int) -> Outcome | None:
        batch.in_flight = False
        return self._settle(batch, Delivered(offset, batch.node_id))

    def lost(self, batch: Batch, reason: str) -> Outcome | None:
        """The connection ended, or nobody answered: it may be written or not."""
        batch.in_flight = False
        batch.maybe_written = True
        batch.last_reason, batch.last_error = reason, None
        return None if self._may_retry(batch) else self.give_up(batch)

    def refused(self, batch: Batch, code: ErrorCode, message: str = "") -> Outcome | None:
        batch.in_flight = False
        batch.last_reason, batch.last_error = message or code.name, code
        if code not in DEFINITE_REFUSALS:
            batch.maybe_written = True
        if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return self._settle(batch, Delivered(NO_OFFSET, batch.node_id))
        if self._idempotent and code in _MISSING_EARLIER:
            is_first = batch is self._first_numbered()
            if not self._renumbers:
                return self.give_up(batch) if is_first or not self._may_retry(batch) else None
            if is_first:
                self._take_number_away(batch)
            return None
        if code.retriable and self._may_retry(batch):
            return None
        return self.give_up(batch)

    def give_up(self, batch: Batch) -> Outcome | None:
        """Also when its time is up, or the producer is closed."""
        may_be_there = batch.maybe_written or batch.in_flight
        kind = Unknown if may_be_there else Failed
        return self._settle(batch, kind(batch.last_reason, batch.last_error))

    def _settle(self, batch: Batch, outcome: Outcome) -> Outcome | None:
        """None for a batch that was settled before: its answer came too late."""
        if batch not in self._batches:
            return None
        del self._batches[batch]
        if batch.has_number and not isinstance(outcome, Delivered):
            self._gap = True
        return outcome

    def _take_number_away(self, batch: Batch) -> None:
        batch.identity = None
        batch.sequence = -1
        self._gap = True

    def _may_retry(self, batch: Batch) -> bool:
        return self._retries is None or batch.tries <= self._retries

    def _first_numbered(self) -> Batch | None:
        return next((batch for batch in self._batches if batch.has_number), None)
