"""What EndTxn does to a transactional id, in both transaction versions.

In the classic version all transactions of a producer share its epoch, so a request that comes late
looks like one for the present transaction (KAFKA-17754). A request is therefore a repetition if the
state says so. In version 2 the epoch says it: each end raises the epoch, a repetition comes with
the one before, and a request with the present epoch is about the present transaction.

After a transaction has ended, and nothing has begun, version 2 answers:

    state            epoch     abort                  commit
    Empty            before    PRODUCER_FENCED        PRODUCER_FENCED
    Empty            present   an abort of nothing    INVALID_TXN_STATE
    CompleteAbort    before    done                   PRODUCER_FENCED
    CompleteAbort    present   an abort of nothing    INVALID_TXN_STATE
    CompleteCommit   before    INVALID_TXN_STATE      done
    CompleteCommit   present   an abort of nothing    INVALID_TXN_STATE

An abort of nothing raises the epoch, too.
"""

from __future__ import annotations

from broker.protocol.errors import ErrorCode
from broker.transactions.initialising import NEEDS_PRODUCER_ID, NeedsProducerId
from broker.transactions.state import TransactionState
from broker.transactions.transaction import (
    BUMPING,
    CLASSIC,
    EPOCH_MAX,
    LAST_CLIENT_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)


def end_classic(
    before: Transaction | None, producer_id: int, epoch: int, *, commit: bool, now_ms: int
) -> Transaction | ErrorCode:
    """The prepared transaction; NONE if it has ended like this already."""
    if before is None or before.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if before.producer_epoch != epoch:
        return ErrorCode.PRODUCER_FENCED
    if before.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if before.state is TransactionState.ONGOING:
        return before.prepared(
            commit=commit, version=CLASSIC, next_producer_id=NO_PRODUCER_ID, now_ms=now_ms
        )
    return ErrorCode.NONE if _ended_by(before, commit=commit) else ErrorCode.INVALID_TXN_STATE


def end_bumping(
    before: Transaction | None,
    producer_id: int,
    epoch: int,
    *,
    commit: bool,
    fresh_id: int | None,
    now_ms: int,
) -> Transaction | ErrorCode | NeedsProducerId:
    """The prepared transaction; NONE if this is a repetition of the request that ended it."""
    if before is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if before.state.is_prepared:
        # First of all: the producer may come with the id that follows, which only the end of
        # this transaction makes valid (KAFKA-18464).
        return ErrorCode.CONCURRENT_TRANSACTIONS
    repeats_last_epoch = (
        before.previous_producer_id == producer_id
        and epoch == LAST_CLIENT_EPOCH
        and before.producer_epoch == 0
    )
    if before.producer_id != producer_id and not repeats_last_epoch:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    # An abort by the coordinator may have used the very last epoch, which no client can go on with.
    is_repeated = repeats_last_epoch or before.producer_epoch == epoch + 1 < EPOCH_MAX
    has_ended = before.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    if is_repeated and has_ended:
        return _repeated(before, commit=commit)
    if before.producer_epoch != epoch or before.producer_id != producer_id:
        return ErrorCode.PRODUCER_FENCED
    if commit and before.state is not TransactionState.ONGOING:
        return ErrorCode.INVALID_TXN_STATE
    if before.is_exhausted and fresh_id is None:
        return NEEDS_PRODUCER_ID
    next_id = fresh_id if before.is_exhausted and fresh_id is not None else NO_PRODUCER_ID
    return before.prepared(commit=commit, version=BUMPING, next_producer_id=next_id, now_ms=now_ms)


def _repeated(before: Transaction, *, commit: bool) -> ErrorCode:
    if _ended_by(before, commit=commit):
        return ErrorCode.NONE
    # A client repeats what it has asked for. A commit that finds an abort has met one of the
    # coordinator, after a timeout, say; INVALID_TXN_STATE would end the client (KAFKA-20785).
    return ErrorCode.PRODUCER_FENCED if commit else ErrorCode.INVALID_TXN_STATE


def _ended_by(before: Transaction, *, commit: bool) -> bool:
    wanted = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    return before.state is wanted
