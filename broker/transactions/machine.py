"""One partition of `__transaction_state`: the transactional ids that belong to it.

Every transition is one record, and a replay of the records gives the state. A transaction ends in
two steps. EndTxn writes the decision (PREPARE_COMMIT or PREPARE_ABORT) and is answered. Then the
shell sends markers to the partitions, when the decision is committed and as often as it takes;
`prepared` says which. `complete` ends the transaction when all partitions have their marker. A
coordinator that takes over finds the decision in its log and sends the markers again.

The epoch before the last InitProducerId is not in Kafka's records. It is kept beside them, so that
a repetition of that request is known until another coordinator takes over. The epoch before an end
of transaction version 2 follows from the record.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket, reply
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, MalformedMessageError
from broker.transactions import listing, records
from broker.transactions.ending import end_bumping, end_classic
from broker.transactions.initialising import (
    NEEDS_PRODUCER_ID,
    Asked,
    Initialised,
    NeedsProducerId,
    fenced,
    initialise,
)
from broker.transactions.partitions import add_partitions, verify_partitions
from broker.transactions.settings import TransactionSettings
from broker.transactions.state import TransactionState
from broker.transactions.transaction import (
    BUMPING,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
)

_log = logging.getLogger(__name__)

_TIMED_OUT_AT_ONCE = 64
_LOOKED_AT_AT_ONCE = 1000

_TIMEOUTS = "timeouts"
_EXPIRY = "expiry"


class _LastEpoch(NamedTuple):
    identity: tuple[int, int]
    """The producer id and epoch to which this belongs; it is void for any other."""
    epoch: int


@dataclass(frozen=True, slots=True)
class ProducerPartitions:
    """A producer as it calls itself, and partitions of its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: Collection[TopicPartition]


class TransactionMachine:
    """Implements `coordination.step.Machine`."""

    def __init__(self, settings: TransactionSettings) -> None:
        self.settings = settings
        self.transactions: dict[str, Transaction] = {}
        self._ongoing: dict[str, None] = {}
        self._prepared: dict[str, None] = {}
        self._last_epochs: dict[str, _LastEpoch] = {}
        self._deadlines: Deadlines[str] = Deadlines()
        self._to_look_at: list[str] = []
        """What is left of a look for expired ids."""

    # Producers

    def init_producer_id(self, ticket: Ticket, asked: Asked, now: Now) -> Step:
        """Replies with an InitProducerIdResponse, or NEEDS_PRODUCER_ID."""
        if not 0 < asked.timeout_ms <= self.settings.max_timeout_ms:
            return reply(ticket, init_failed(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        transactional_id = asked.transactional_id
        before = self.transactions.get(transactional_id)
        result = initialise(before, self._last_epoch_of(before), asked, now.wall_ms)
        match result:
            case ErrorCode():
                return reply(ticket, init_failed(result))
            case NeedsProducerId():
                return reply(ticket, NEEDS_PRODUCER_ID)
            case Initialised(after, last_epoch):
                if after.state is TransactionState.PREPARE_ABORT:
                    answer = init_failed(ErrorCode.CONCURRENT_TRANSACTIONS)
                else:
                    answer = m.InitProducerIdResponse(
                        producer_id=after.producer_id, producer_epoch=after.producer_epoch
                    )
                if before is not None and before.is_begun_as(after):
                    return reply(ticket, answer)  # a repetition: it is written already
                self._last_epochs[transactional_id] = _LastEpoch(after.identity, last_epoch)
                return Step(
                    [records.record(after)],
                    [Reply(ticket, answer)],
                    lambda code, _: reply(ticket, init_failed(code)),
                )

    def _last_epoch_of(self, transaction: Transaction | None) -> int:
        if transaction is None:
            return NO_EPOCH
        if transaction.epoch_before_end != NO_EPOCH:
            return transaction.epoch_before_end
        found = self._last_epochs.get(transaction.transactional_id)
        if found is None or found.identity != transaction.identity:
            return NO_EPOCH
        return found.epoch

    # Transactions

    def add_partitions(
        self, ticket: Ticket, asked: ProducerPartitions, version: int, now: Now
    ) -> Step:
        """Replies with an ErrorCode for all of them. `version`: the transaction version."""
        result = add_partitions(
            self.transactions.get(asked.transactional_id),
            asked.producer_id,
            asked.producer_epoch,
            asked.partitions,
            version,
            now.wall_ms,
        )
        if isinstance(result, ErrorCode):
            return reply(ticket, result)
        if _TIMEOUTS not in self._deadlines:
            self._set_timeout_check(now)
        return Step(
            [records.record(result)],
            [Reply(ticket, ErrorCode.NONE)],
            lambda code, _: reply(ticket, code),
        )

    def verify_partitions(self, ticket: Ticket, asked: ProducerPartitions) -> Step:
        """Replies with an ErrorCode for each partition."""
        found = self.transactions.get(asked.transactional_id)
        return reply(
            ticket,
            verify_partitions(found, asked.producer_id, asked.producer_epoch, asked.partitions),
        )

    def end(
        self,
        ticket: Ticket,
        body: m.EndTxnRequest,
        version: int,
        fresh_id: int | None,
        now: Now,
    ) -> Step:
        """Replies with an EndTxnResponse, or NEEDS_PRODUCER_ID."""
        before = self.transactions.get(body.transactional_id)
        producer, commit = (body.producer_id, body.producer_epoch), body.committed
        result: Transaction | ErrorCode | NeedsProducerId
        if version >= BUMPING:
            result = end_bumping(
                before, *producer, commit=commit, fresh_id=fresh_id, now_ms=now.wall_ms
            )
        else:
            result = end_classic(before, *producer, commit=commit, now_ms=now.wall_ms)
        match result:
            case NeedsProducerId():
                return reply(ticket, NEEDS_PRODUCER_ID)
            case ErrorCode():
                return reply(ticket, _already_ended(before, result, version))
            case Transaction():
                return Step(
                    [records.record(result)],
                    [Reply(ticket, _ended(result.completed(now.wall_ms), version))],
                    lambda code, _: reply(ticket, m.EndTxnResponse(error_code=code)),
                )

    def open_transactions(self) -> list[Transaction]:
        """Those that are ongoing or prepared."""
        return [self.transactions[each] for each in (*self._ongoing, *self._prepared)]

    # Markers

    @property
    def has_prepared(self) -> bool:
        return bool(self._prepared)

    def prepared(self, ticket: Ticket) -> Step:
        """Replies with all transactions that wait for their markers. The reply comes when the
        decisions are committed, so that no marker is sent for one that a failover takes back."""
        return reply(ticket, [self.transactions[each] for each in self._prepared])

    def complete(self, ticket: Ticket, ended: Transaction, now: Now) -> Step:
        """All partitions of the prepared transaction have their marker. Replies with an ErrorCode;
        NONE also if that was known before."""
        found = self.transactions.get(ended.transactional_id)
        # The identity is not enough: in the classic version the next transaction has the same one,
        # and may be prepared when this request is repeated.
        if found is None or found != ended:
            return reply(ticket, ErrorCode.NONE)
        after = found.completed(now.wall_ms)
        return Step(
            [records.record(after)],
            [Reply(ticket, ErrorCode.NONE)],
            lambda code, _: reply(ticket, code),
        )

    # Looking

    def list_transactions(self, ticket: Ticket, is_listed: listing.Filter, now: Now) -> Step:
        """Replies with a list of ListTransactionsResponseTransactionState."""
        return reply(
            ticket,
            [
                listing.listed(each)
                for each in self.transactions.values()
                if is_listed(each, now.wall_ms)
            ],
        )

    def describe_transaction(self, ticket: Ticket, transactional_id: str) -> Step:
        """Replies with a DescribeTransactionsResponseTransactionState."""
        found = self.transactions.get(transactional_id)
        return reply(ticket, listing.described(transactional_id, found))

    # What the shell asks

    def replay(self, record: CoordinatorRecord) -> None:
        try:
            transactional_id = records.decode_key(record.key)
            transaction = (
                None
                if record.value is None
                else records.decode_value(transactional_id, record.value)
            )
        except MalformedMessageError as problem:
            _log.warning("a record of __transaction_state is left out: %s", problem)
            return
        self._ongoing.pop(transactional_id, None)
        self._prepared.pop(transactional_id, None)
        if transaction is None:
            self.transactions.pop(transactional_id, None)
            self._last_epochs.pop(transactional_id, None)
            return
        self.transactions[transactional_id] = transaction
        if transaction.state is TransactionState.ONGOING:
            self._ongoing[transactional_id] = None
        elif transaction.state.is_prepared:
            self._prepared[transactional_id] = None

    def loaded(self, now: Now) -> Step:
        self._set_expiry_check(now)
        if self._ongoing:
            self._set_timeout_check(now)
        return Step()

    @property
    def deadline_s(self) -> float | None:
        return self._deadlines.next_s

    def tick(self, now: Now) -> Step:
        match self._deadlines.take_next(now.loop_s):
            case "timeouts":
                return self._abort_timed_out(now)
            case "expiry":
                return self._expire(now)
            case _:
                return Step()

    def tickets(self) -> list[Ticket]:
        return []

    # Time

    def _set_timeout_check(self, now: Now) -> None:
        interval_s = self.settings.timeout_check_interval_ms / 1000
        self._deadlines.set(_TIMEOUTS, now.loop_s + interval_s)

    def _abort_timed_out(self, now: Now) -> Step:
        due: list[Transaction] = []
        for each in self._ongoing:
            transaction = self.transactions[each]
            if transaction.start_ms + transaction.timeout_ms < now.wall_ms:
                due.append(transaction)
                if len(due) == _TIMED_OUT_AT_ONCE:
                    self._deadlines.set(_TIMEOUTS, now.loop_s)
                    break
        else:
            if len(due) < len(self._ongoing):
                self._set_timeout_check(now)
        return Step(
            [records.record(fenced(each, now.wall_ms)) for each in due],
            refused=lambda _, later: self._try_again(later),
            is_atomic=False,
        )

    def _try_again(self, now: Now) -> Step:
        self._set_timeout_check(now)
        return Step()

    def _set_expiry_check(self, now: Now) -> None:
        interval_s = self.settings.expiry_check_interval_ms / 1000
        self._deadlines.set(_EXPIRY, now.loop_s + interval_s)

    def _expire(self, now: Now) -> Step:
        """Kafka counts from the last transition, so an id that is only initialised lives on."""
        if not self._to_look_at:
            self._to_look_at = list(self.transactions)
        some = self._to_look_at[-_LOOKED_AT_AT_ONCE:]
        del self._to_look_at[-_LOOKED_AT_AT_ONCE:]
        if self._to_look_at:
            self._deadlines.set(_EXPIRY, now.loop_s)
        else:
            self._set_expiry_check(now)
        oldest_ms = now.wall_ms - self.settings.id_expiration_ms
        found = (self.transactions.get(each) for each in some)
        return Step(
            [
                records.tombstone(each.transactional_id)
                for each in found
                if each is not None and each.state.is_idle and each.updated_ms <= oldest_ms
            ],
            is_atomic=False,
        )


def init_failed(code: ErrorCode) -> m.InitProducerIdResponse:
    return m.InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH
    )


def _already_ended(
    transaction: Transaction | None, code: ErrorCode, version: int
) -> m.EndTxnResponse:
    if code or transaction is None:
        return m.EndTxnResponse(error_code=code)
    return _ended(transaction, version)


def _ended(transaction: Transaction, version: int) -> m.EndTxnResponse:
    """With version 2 the identity for the next transaction goes with it."""
    if version < BUMPING:
        return m.EndTxnResponse()
    return m.EndTxnResponse(
        producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch
    )
