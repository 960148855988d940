"""Our own client as a transactional producer of a run (harness/client/transactions_driver.py).

It counts the tries of each request, so it knows more than a library tells: a commit that it calls
harmless was refused each time it was sent, or never sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

from harness.client.driver import place_of
from harness.client.traffic import Traffic
from harness.client.transactions_driver import ProducerIdentity, Recovery, TransactionError
from harness.native.client import Client
from harness.native.partition_sender import ProducerSettings
from harness.native.produce_queue import Outcome
from harness.native.producer import KeyAndValue
from harness.native.transaction_errors import TransactionErrorKind, TransactionFailedError
from harness.native.transaction_requests import GroupClaim
from harness.native.transactional import TransactionalProducer

_RECOVERY: dict[TransactionErrorKind, Recovery] = {
    TransactionErrorKind.RETRIABLE: "retry",
    TransactionErrorKind.ABORTABLE: "abort",
    TransactionErrorKind.FENCED: "close",
    TransactionErrorKind.FATAL: "close",
    TransactionErrorKind.UNKNOWN: "close",
}


class Submit(Protocol):
    """`submit` of either kind of producer."""

    def __call__(
        self,
        topic: str,
        partition: int,
        pairs: Sequence[KeyAndValue],
        *,
        timestamps_ms: Sequence[int] | None = None,
    ) -> asyncio.Future[Outcome]: ...


class NativeTransactions:
    """At most one transactional producer at a time, of one client."""

    def __init__(self, client: Client, settings: Callable[[], ProducerSettings]) -> None:
        self._client = client
        self._settings = settings
        self._producer: TransactionalProducer | None = None

    @property
    def producer(self) -> TransactionalProducer:
        assert self._producer is not None, "init_transactions comes first"
        return self._producer

    async def init(self, transactional_id: str, timeout_ms: int) -> None:
        if self._producer is not None:
            await self._producer.close()
        self._producer = self._client.transactional_producer(
            transactional_id, timeout_ms=timeout_ms, settings=self._settings()
        )
        try:
            await self._producer.init()
        except TransactionFailedError as error:
            # Nothing is lost by another try: it fences, and aborts, as the first one does.
            is_worth_it = error.kind is TransactionErrorKind.UNKNOWN
            raise _error(error, "retry" if is_worth_it else None) from error

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        other = self._client.transactional_producer(transactional_id, timeout_ms=timeout_ms)
        await _told(other.init())
        await other.close()

    def identity(self) -> ProducerIdentity:
        producer = self._producer
        if producer is None or producer.current is None:
            return ProducerIdentity()
        protocol: Literal[1, 2] = 2 if producer.uses_protocol_2 else 1
        return ProducerIdentity(producer.current.producer_id, producer.current.epoch, protocol)

    def begin(self) -> None:
        try:
            self.producer.begin()
        except TransactionFailedError as error:
            raise _error(error) from error

    async def send_offsets(self, offsets: Mapping[str, int], claim: GroupClaim) -> None:
        slots = {}
        for key, offset in offsets.items():
            place = place_of(key)
            slots[place.topic, place.partition] = offset
        await _told(self.producer.send_offsets(slots, claim))

    async def commit(self) -> None:
        await _told(self.producer.commit())

    async def abort(self) -> None:
        await _told(self.producer.abort())

    def traffic(self) -> Traffic:
        return Traffic() if self._producer is None else self._producer.meter.take()


async def _told(work: Awaitable[object]) -> None:
    try:
        await work
    except TransactionFailedError as error:
        raise _error(error) from error


def _error(error: TransactionFailedError, recovery: Recovery | None = None) -> TransactionError:
    name = "NETWORK_EXCEPTION" if error.code is None else error.code.name
    return TransactionError(
        name, str(error), recovery=recovery or _RECOVERY[error.kind], harmless=error.is_definite
    )
