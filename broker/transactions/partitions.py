"""Which partitions belong to a transaction: they are added, or only looked up."""

from __future__ import annotations

from collections.abc import Collection

from broker.protocol.errors import ErrorCode
from broker.transactions.state import TransactionState
from broker.transactions.transaction import TopicPartition, Transaction


def add_partitions(
    before: Transaction | None,
    producer_id: int,
    epoch: int,
    partitions: Collection[TopicPartition],
    version: int,
    now_ms: int,
) -> Transaction | ErrorCode:
    """The transaction with the partitions, begun by them if none is open; NONE if it has them."""
    if before is not None and before.state.is_prepared:
        # First of all: the producer may come with the id that follows (KAFKA-18464).
        return ErrorCode.CONCURRENT_TRANSACTIONS
    code = _check(before, producer_id, epoch)
    if code or before is None:
        return code
    is_open = before.state is TransactionState.ONGOING
    if is_open and all(each in before.partitions for each in partitions):
        return ErrorCode.NONE
    return before.with_partitions(partitions, version, now_ms)


def verify_partitions(
    before: Transaction | None,
    producer_id: int,
    epoch: int,
    partitions: Collection[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Whether each partition belongs to the open transaction (KIP-890)."""
    code = _check(before, producer_id, epoch)
    if not code and before is not None and before.state.is_prepared:
        code = ErrorCode.CONCURRENT_TRANSACTIONS
    if code or before is None:
        return dict.fromkeys(partitions, code)
    return {
        each: ErrorCode.NONE if each in before.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for each in partitions
    }


def _check(before: Transaction | None, producer_id: int, epoch: int) -> ErrorCode:
    if before is None or before.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if before.producer_epoch == epoch else ErrorCode.PRODUCER_FENCED
