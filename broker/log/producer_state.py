"""Idempotence and transactions inside one partition, as a pure state machine.

A producer's state is a value: an append computes the next one, and the log puts it into the table
after the bytes are in the file. Nothing has to be taken back when the write fails (KAFKA-6683).
"""

from __future__ import annotations

from typing import NamedTuple

from broker.log.origin import Origin
from broker.protocol.batch import TRANSACTIONAL, BatchHeader
from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode, KafkaError

WINDOW = 5
"""A client has at most five batches in flight, so a retry is never older than these."""

SEQUENCE_MASK = 0x7FFFFFFF
"""After 2^31 - 1 comes 0."""

NO_EPOCH = -1


class WrittenBatch(NamedTuple):
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        if self.last_sequence < 0:
            return -1
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK


class Producer(NamedTuple):
    producer_id: int
    epoch: int
    window: tuple[WrittenBatch, ...]  # oldest first
    coordinator_epoch: int
    last_timestamp: int
    txn_first_offset: int | None  # of the open transaction
    seen_ms: int  # by the loop, which never jumps as clocks and timestamps of records do

    @property
    def last_sequence(self) -> int:
        return self.window[-1].last_sequence if self.window else -1

    @property
    def has_ended_one(self) -> bool:
        """Whether a marker of this producer was ever written here."""
        return self.coordinator_epoch != NO_EPOCH

    def has_open_transaction_in(self, epoch: int) -> bool:
        return self.txn_first_offset is not None and self.epoch == epoch

    def find_duplicate(self, header: BatchHeader) -> WrittenBatch | None:
        if header.producer_epoch != self.epoch or follows(self.window, header.base_sequence):
            return None
        first, last = header.base_sequence, header.last_sequence
        for batch in self.window:
            if batch.last_sequence == last and batch.first_sequence == first:
                return batch
        return None


def follows(window: tuple[WrittenBatch, ...], sequence: int) -> bool:
    """The usual case: the batch after the last one. Such a batch is no duplicate either."""
    return bool(window) and (window[-1].last_sequence + 1) & SEQUENCE_MASK == sequence


class EndedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    committed: bool


def after_data(
    before: Producer | None, header: BatchHeader, base_offset: int, seen_ms: int, origin: Origin
) -> Producer:
    """The producer once this batch is written at `base_offset`; KafkaError when it must not be."""
    delta = header.last_offset_delta
    written = WrittenBatch(header.last_sequence, base_offset + delta, delta, header.max_timestamp)
    opens_at = base_offset if header.attributes & TRANSACTIONAL else None
    if before is None:
        # Kafka takes any sequence from a producer it does not know: the state may have expired.
        return Producer(
            header.producer_id,
            header.producer_epoch,
            (written,),
            NO_EPOCH,
            header.max_timestamp,
            opens_at,
            seen_ms,
        )
    same_epoch = header.producer_epoch == before.epoch
    if origin is not Origin.REPLICA:
        if not same_epoch:
            _check_epoch(before, header)
        if origin is Origin.CLIENT and not (
            same_epoch and follows(before.window, header.base_sequence)
        ):
            _check_sequence(before, header)
        if before.txn_first_offset is not None and opens_at is None:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {before.producer_id} has an open transaction since offset "
                f"{before.txn_first_offset}, so its batches must be transactional",
            )
    return Producer(
        before.producer_id,
        header.producer_epoch,
        (*before.window[1 - WINDOW :], written) if same_epoch else (written,),
        before.coordinator_epoch,
        header.max_timestamp,
        opens_at if before.txn_first_offset is None else before.txn_first_offset,
        seen_ms,
    )


def after_marker(
    before: Producer | None,
    header: BatchHeader,
    marker: EndTransactionMarker,
    offset: int,
    seen_ms: int,
    origin: Origin,
) -> tuple[Producer, EndedTransaction | None]:
    """The marker may come for a producer without a transaction here; then it ends nothing."""
    if before is None:
        before = Producer(
            header.producer_id, header.producer_epoch, (), NO_EPOCH, -1, None, seen_ms
        )
    if origin is not Origin.REPLICA:
        _check_epoch(before, header)
        if marker.coordinator_epoch < before.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a marker for producer {before.producer_id} comes from coordinator epoch "
                f"{marker.coordinator_epoch}, but epoch {before.coordinator_epoch} wrote before",
            )
    ended = None
    if before.txn_first_offset is not None:
        ended = EndedTransaction(
            before.producer_id, before.txn_first_offset, offset, marker.committed
        )
    same_epoch = header.producer_epoch == before.epoch
    after = Producer(
        before.producer_id,
        header.producer_epoch,
        before.window if same_epoch else (),
        marker.coordinator_epoch,
        header.max_timestamp,
        None,
        seen_ms,
    )
    return after, ended


def _check_epoch(before: Producer, header: BatchHeader) -> None:
    if header.producer_epoch < before.epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {before.producer_id} comes with epoch {header.producer_epoch}, "
            f"but epoch {before.epoch} has written already",
        )


def _check_sequence(before: Producer, header: BatchHeader) -> None:
    if header.producer_epoch != before.epoch:
        # Kafka forgives an unknown epoch, which is all that a snapshot may have left.
        expected = 0 if before.epoch != NO_EPOCH else header.base_sequence
    else:
        expected = (before.last_sequence + 1) & SEQUENCE_MASK
    if header.base_sequence != expected:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {before.producer_id} epoch {header.producer_epoch} sends sequence "
            f"{header.base_sequence}, expected {expected}",
        )
