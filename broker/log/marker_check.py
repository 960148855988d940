"""Whether a marker of a transaction may be written to a log, by what the log knows of its producer.

A producer of transaction version 2 begins each transaction with a new epoch, and the marker that
ends one carries the next epoch already (KIP-890). Such a marker is written at most once: when its
epoch is known here, its transaction has ended. A repeated one counts as success, as in Kafka 4.3: a
coordinator cannot tell INVALID_PRODUCER_EPOCH from being fenced (KAFKA-19999).
"""

from __future__ import annotations

from broker.log.producer_state import Producer
from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode, KafkaError

FIRST_VERSION_WITH_EPOCHS = 2
"""The transaction version from which on each transaction has an epoch of its own."""


class AlreadyEndedError(Exception):
    """An earlier copy of the marker is in the log."""


def check_marker(
    known: Producer | None, epoch: int, marker: EndTransactionMarker, transaction_version: int
) -> None:
    """Raises KafkaError for a marker that is fenced, AlreadyEndedError for one that is there."""
    if known is None:
        return
    if epoch < known.epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"a marker for producer {known.producer_id} has epoch {epoch}, but epoch "
            f"{known.epoch} has written already",
        )
    if marker.coordinator_epoch < known.coordinator_epoch:
        raise KafkaError(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            f"a marker for producer {known.producer_id} comes from coordinator epoch "
            f"{marker.coordinator_epoch}, but epoch {known.coordinator_epoch} wrote before",
        )
    if transaction_version < FIRST_VERSION_WITH_EPOCHS or epoch > known.epoch:
        return
    if known.txn_first_offset is None and known.has_ended_one:
        raise AlreadyEndedError
    raise KafkaError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"producer {known.producer_id} has begun another transaction with epoch {epoch}, so "
        "the marker comes late",
    )
