"""Transactions that a leader is about to open, while their coordinator is asked about them.

Two things must not be lost between the question and the append that follows the answer:

* whether a marker was written meanwhile, which ends the transaction that was asked about;
* the lowest sequence number that the producer has sent. A log takes any sequence number from a
  producer that it does not know. If the first of two batches in flight fails to be verified and
  the second one does not, the second would be taken, and the first could never follow.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.log.producer_state import Producer
from broker.log.producer_table import ProducerTable
from broker.protocol.batch import BatchHeader
from broker.protocol.errors import ErrorCode, KafkaError

_ENTRIES_MAX = 10_000
"""Of one partition. The entry of a producer that gave up stays until others need the room."""


class Guard:
    """Stands for one transaction that is not open yet. Compared by identity."""

    __slots__ = ()


class _Entry(NamedTuple):
    epoch: int
    lowest_sequence: int
    known: Producer | None
    """What the log knew of the producer when its coordinator was first asked."""
    guard: Guard


class Unopened:
    """Of one partition, by producer id."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}

    def begin(self, producers: ProducerTable, header: BatchHeader) -> Guard | None:
        """What `check` has to be asked with before this transactional batch is appended.

        None for a batch that opens no transaction, so that nothing has to be verified.
        """
        producer_id, epoch = header.producer_id, header.producer_epoch
        known = producers.producers.get(producer_id)
        if known is not None and known.has_open_transaction_in(epoch):
            self._entries.pop(producer_id, None)
            return None
        if known is not None and known.find_duplicate(header) is not None:
            return None  # it is answered with what was written, and opens nothing
        entry = self._entries.get(producer_id)
        sequence, guard = header.base_sequence, Guard()
        if entry is not None and entry.epoch == epoch and entry.known is known:
            sequence, guard = min(sequence, entry.lowest_sequence), entry.guard
        elif entry is None and len(self._entries) >= _ENTRIES_MAX:
            del self._entries[next(iter(self._entries))]
        self._entries[producer_id] = _Entry(epoch, sequence, known, guard)
        return guard

    def check(
        self, producers: ProducerTable, header: BatchHeader, guard: Guard, *, adds: bool
    ) -> None:
        """Right before the append of a verified batch. Raises KafkaError.

        `adds`: the producer begins each transaction with a new epoch, and so with sequence 0. The
        marker of its last transaction has that new epoch already, and may be written only now: the
        coordinator acknowledges a commit before. A marker of this transaction would have a later
        epoch.
        """
        producer_id, sequence = header.producer_id, header.base_sequence
        known = producers.producers.get(producer_id)
        if known is not None and known.has_open_transaction_in(header.producer_epoch):
            return  # an earlier batch of the same transaction has opened it
        entry = self._entries.get(producer_id)
        is_over = entry is None or entry.guard is not guard or entry.known is not known
        if is_over and adds and known is not None:
            is_over = known.epoch > header.producer_epoch
        if is_over:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"the transaction of producer {producer_id} has ended while it was verified",
            )
        is_first = adds and not (known and known.window)
        lowest = 0 if is_first or entry is None else entry.lowest_sequence
        if sequence > lowest:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer_id} sends sequence {sequence}, but {lowest} is still to come",
            )
