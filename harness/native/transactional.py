"""A transactional producer: its session, and the transactions of that session one after another.

Two protocols. In the first one the client tells the coordinator of each partition before it writes
there (AddPartitionsToTxn), and keeps its epoch from one transaction to the next. In the second one
(KIP-890) the partition's leader tells the coordinator, and every end of a transaction gives the
producer another epoch. Which one is spoken follows from the finalized feature transaction.version,
unless the versions of the client are pinned to those of the first.

A batch that is not acknowledged spoils its transaction: it can only be aborted. After that a
producer of the first protocol asks for another epoch (KIP-360), because the batch may still arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.client.traffic import Meter
from harness.native.partition_sender import PartitionSender, ProducerSettings
from harness.native.produce_queue import Delivered, Failed, Identity, Outcome
from harness.native.producer import KeyAndValue, batch_of
from harness.native.transaction_errors import (
    TransactionErrorKind,
    TransactionFailedError,
    kind_of,
)
from harness.native.transaction_requests import (
    GroupClaim,
    Slot,
    TransactionRequests,
    TransactionStep,
)

if TYPE_CHECKING:
    from harness.native.client import Client

_LAST_PRODUCE_OF_FIRST = 11
_ANY_VERSION = 1 << 15


class Standing(Enum):
    NEW = auto()
    READY = auto()
    OPEN = auto()
    SPOILED = auto()
    """The transaction can only be aborted."""
    OVER = auto()
    """Fenced, or the end is not known: only `init` goes on, and fences the owner of the id."""


class _TransactionSession:
    """Whose batches the senders of one epoch send."""

    def __init__(self, producer: TransactionalProducer, identity: Identity) -> None:
        self.transactional_id: str | None = producer.transactional_id
        first, last = _LAST_PRODUCE_OF_FIRST + 1, _ANY_VERSION
        self.produce_versions = (first, last) if producer.uses_protocol_2 else (0, first - 1)
        self._producer = producer
        self._identity = identity

    async def identity(self) -> Identity:
        return self._identity

    async def admit(self, topic: str, partition: int) -> None:
        await self._producer.admit(topic, partition)


class TransactionalProducer:
    """Made by `Client.transactional_producer`. Methods raise TransactionFailedError."""

    def __init__(
        self,
        client: Client,
        transactional_id: str,
        *,
        timeout_ms: int,
        settings: ProducerSettings,
        lane: str,
    ) -> None:
        self.transactional_id = transactional_id
        self.standing = Standing.NEW
        self.uses_protocol_2 = False
        self.current: Identity | None = None
        """Of the current or next transaction; None before `init`."""
        self.meter = Meter()
        self._client = client
        self._settings = settings
        self._lane = lane
        self._requests = TransactionRequests(client, transactional_id, timeout_ms)
        self._senders: dict[Slot, PartitionSender] = {}
        self._outcomes: list[asyncio.Future[Outcome]] = []
        self._wanted: set[Slot] = set()
        self._added: set[Slot] = set()
        self._adding = asyncio.Lock()
        self._is_begun = False
        """Whether the coordinator may know of the transaction. Asked to end one that it does not
        know, it refuses in the first protocol."""
        self._error: TransactionFailedError | None = None

    def steps(self) -> list[TransactionStep]:
        """The last answers to requests of transactions, since the last call."""
        taken = list(self._requests.steps)
        self._requests.steps.clear()
        return taken

    # A session

    async def init(self) -> Identity:
        """Fences all earlier producers of the id, and aborts what they left open."""
        await self._drop_senders()
        self.standing = Standing.OVER
        self.current, self.uses_protocol_2 = await self._requests.init()
        self._forget_transaction()
        self.standing = Standing.READY
        return self.current

    async def close(self) -> None:
        """At once, without a word to the coordinator: it aborts when the time is up."""
        self.standing = Standing.OVER
        await self._drop_senders()

    # A transaction

    def begin(self) -> None:
        if self.standing is not Standing.READY:
            raise _wrong(f"a transaction cannot begin: the producer is {self.standing.name}")
        self.standing = Standing.OPEN

    def submit(
        self,
        topic: str,
        partition: int,
        pairs: Sequence[KeyAndValue],
        *,
        timestamps_ms: Sequence[int] | None = None,
    ) -> asyncio.Future[Outcome]:
        """One batch, as `Producer.submit`. Never raises: outside of a transaction, or in one that
        is spoiled, nothing is sent."""
        if self.standing is not Standing.OPEN or self.current is None:
            refused: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
            told = self._error or f"no transaction is open: the producer is {self.standing.name}"
            code = None if self._error is None else self._error.code
            refused.set_result(Failed(str(told), code))
            return refused
        slot = (topic, partition)
        sender = self._senders.get(slot)
        if sender is None:
            sender = self._senders[slot] = PartitionSender(
                self._client,
                self._settings,
                self._lane,
                topic,
                partition,
                self.meter,
                _TransactionSession(self, self.current),
            )
        self._wanted.add(slot)
        self._is_begun |= self.uses_protocol_2
        outcome = sender.submit(batch_of(pairs, timestamps_ms, self._client.now_ms))
        self._outcomes.append(outcome)
        outcome.add_done_callback(self._settled)
        return outcome

    async def admit(self, topic: str, partition: int) -> None:
        """Before a batch is sent. All partitions that wait are added by one request."""
        if self.uses_protocol_2:
            return
        async with self._adding:
            identity = self._open_identity("the partition was not added")
            if (topic, partition) in self._added:
                return
            slots = self._wanted - self._added
            try:
                await self._requests.add_partitions(identity, slots)
            except TransactionFailedError as error:
                self._spoil(error)
                raise
            self._added |= slots
            self._is_begun = True

    async def send_offsets(self, offsets: Mapping[Slot, int], claim: GroupClaim) -> None:
        identity = self._open_identity("no offsets can be sent")
        self._is_begun |= self.uses_protocol_2
        try:
            if not self.uses_protocol_2:
                async with self._adding:
                    await self._requests.add_offsets(identity, claim.group)
                self._is_begun = True
            await self._requests.commit_offsets(
                identity, claim, offsets, protocol_2=self.uses_protocol_2
            )
        except TransactionFailedError as error:
            self._spoil(error)
            raise

    async def commit(self) -> None:
        """Returns when the coordinator has decided so. A failure that is definite proves that
        nothing of the transaction was committed."""
        identity = self._open_identity("the commit was not sent")
        for outcome in self._outcomes:
            await asyncio.shield(outcome)
        self._open_identity("the commit was not sent")
        if self._is_begun:
            await self._end(identity, commit=True)
        self._forget_transaction()
        self.standing = Standing.READY

    async def abort(self) -> None:
        if self.standing not in (Standing.OPEN, Standing.SPOILED) or self.current is None:
            raise _wrong(f"there is nothing to abort: the producer is {self.standing.name}")
        identity = self.current
        # What waits to be added is not added any more: it would belong to the next transaction.
        self.standing = Standing.SPOILED
        for sender in list(self._senders.values()):
            await sender.wind_down()
        is_torn = any(not isinstance(each.result(), Delivered) for each in self._outcomes)
        is_forgotten = self._error is not None and self._error.code in _FORGOTTEN
        if self._is_begun and not is_forgotten:
            async with self._adding:
                await self._end(identity, commit=False)
        if not self.uses_protocol_2 and (is_torn or is_forgotten):
            await self._bump(identity)
        self._forget_transaction()
        self.standing = Standing.READY

    async def _end(self, identity: Identity, *, commit: bool) -> None:
        try:
            after = await self._requests.end(
                identity, commit=commit, protocol_2=self.uses_protocol_2
            )
        except TransactionFailedError as error:
            self._spoil(error)
            raise
        await self._take(after)

    async def _bump(self, identity: Identity) -> None:
        try:
            after, _ = await self._requests.init(identity)
        except TransactionFailedError as error:
            self._spoil(error)
            raise
        await self._take(after)

    async def _take(self, identity: Identity) -> None:
        if identity != self.current:
            await self._drop_senders()
        self.current = identity

    # What spoils a transaction

    def _open_identity(self, problem: str) -> Identity:
        if self.standing is Standing.OPEN and self.current is not None:
            return self.current
        if self._error is not None:
            told = f"{problem}: {self._error}"
            raise TransactionFailedError(
                self._error.kind, told, code=self._error.code, is_definite=True
            )
        raise _wrong(f"{problem}: the producer is {self.standing.name}")

    def _settled(self, done: asyncio.Future[Outcome]) -> None:
        if done.cancelled() or done.exception() is not None or done not in self._outcomes:
            return
        outcome = done.result()
        if isinstance(outcome, Delivered) or self.standing is not Standing.OPEN:
            return
        kind = TransactionErrorKind.ABORTABLE
        if outcome.error is not None:
            kind = kind_of(ApiKey.PRODUCE, outcome.error)
        if kind is not TransactionErrorKind.FENCED:
            kind = TransactionErrorKind.ABORTABLE
        told = f"a batch was not acknowledged: {outcome.reason}"
        self._spoil(TransactionFailedError(kind, told, code=outcome.error, is_definite=True))

    def _spoil(self, error: TransactionFailedError) -> None:
        self._error = error
        is_over = error.kind.ends_producer
        self.standing = Standing.OVER if is_over else Standing.SPOILED

    def _forget_transaction(self) -> None:
        self._outcomes = []
        self._wanted, self._added = set(), set()
        self._is_begun = False
        self._error = None

    async def _drop_senders(self) -> None:
        senders, self._senders = self._senders, {}
        for sender in senders.values():
            await sender.close()


_FORGOTTEN = (ErrorCode.INVALID_PRODUCER_ID_MAPPING,)
"""The coordinator does not know the id any more, so it has nothing to abort."""


def _wrong(told: str) -> TransactionFailedError:
    return TransactionFailedError(TransactionErrorKind.FATAL, told, is_definite=True)
