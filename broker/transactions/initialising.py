"""What InitProducerId does to a transactional id (KIP-98, KIP-360)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from broker.protocol.errors import ErrorCode
from broker.transactions.state import TransactionState
from broker.transactions.transaction import (
    BUMPING,
    EPOCH_MAX,
    LAST_CLIENT_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)


class NeedsProducerId:
    """The request needs a producer id that no one has. Repeat it with one."""


NEEDS_PRODUCER_ID = NeedsProducerId()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    transactional_id: str
    timeout_ms: int
    expected: tuple[int, int] | None
    """The producer id and epoch that the producer has; None for one that begins."""
    fresh_id: int | None
    """A producer id that no one has, if one was needed before."""


class Initialised(NamedTuple):
    after: Transaction
    last_epoch: int
    """The epoch of the producer before the request, by which a repetition of it is known.
    NO_EPOCH if the producer has not said that it goes on."""


def initialise(
    before: Transaction | None, last_epoch: int, asked: Asked, now_ms: int
) -> Initialised | ErrorCode | NeedsProducerId:
    """A transaction that is open is aborted first. The result is then PREPARE_ABORT, and the
    producer has to ask again: only that second request gives it an epoch."""
    if before is None:
        if asked.fresh_id is None:
            return NEEDS_PRODUCER_ID
        before = Transaction(
            transactional_id=asked.transactional_id,
            producer_id=asked.fresh_id,
            producer_epoch=NO_EPOCH,
            timeout_ms=asked.timeout_ms,
            updated_ms=now_ms,
        )
    if before.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if asked.expected is not None and not _may_go_on(before, *asked.expected):
        return ErrorCode.PRODUCER_FENCED
    if before.state is TransactionState.ONGOING:
        return Initialised(fenced(before, now_ms), before.producer_epoch)
    return _next_epoch(before, last_epoch, asked, now_ms)


def fenced(before: Transaction, now_ms: int) -> Transaction:
    """Aborts an open transaction without its producer, whose epoch is over with it (KAFKA-6119).

    The last epoch leaves one for the markers. The next InitProducerId takes a new producer id.
    """
    return before.prepared(
        commit=False, version=BUMPING, next_producer_id=NO_PRODUCER_ID, now_ms=now_ms
    )


def _may_go_on(before: Transaction, producer_id: int, epoch: int) -> bool:
    """A producer that has no epoch yet may be anyone: the id has expired meanwhile. A previous
    producer id is right in a repetition of the request that has used up its epochs."""
    return (
        before.producer_epoch == NO_EPOCH
        or producer_id == before.producer_id
        or (producer_id == before.previous_producer_id and epoch >= LAST_CLIENT_EPOCH)
    )


def _next_epoch(
    before: Transaction, last_epoch: int, asked: Asked, now_ms: int
) -> Initialised | ErrorCode | NeedsProducerId:
    expected = None if asked.expected is None else asked.expected[1]
    if expected is not None and before.producer_epoch not in (NO_EPOCH, expected):
        if expected != last_epoch or last_epoch == NO_EPOCH:
            return ErrorCode.PRODUCER_FENCED
        if before.state is TransactionState.EMPTY:
            # A repetition: the first answer was lost.
            return Initialised(
                before.initialised(
                    before.producer_id, before.producer_epoch, asked.timeout_ms, now_ms
                ),
                last_epoch,
            )
        if before.epoch_before_end != expected and before.producer_epoch != EPOCH_MAX:
            # The producer has used the epoch of the answer, so it got the answer, and this is a
            # late copy of the request.
            return ErrorCode.PRODUCER_FENCED
        # The markers of the last transaction have the present epoch. A marker that is still on the
        # way must not end the next transaction of the producer (KIP-890), so the producer gets
        # another epoch.
    last = NO_EPOCH if expected is None else expected
    if before.is_exhausted:
        if asked.fresh_id is None:
            return NEEDS_PRODUCER_ID
        return Initialised(before.initialised(asked.fresh_id, 0, asked.timeout_ms, now_ms), last)
    epoch = before.producer_epoch + 1
    return Initialised(
        before.initialised(before.producer_id, epoch, asked.timeout_ms, now_ms), last
    )
