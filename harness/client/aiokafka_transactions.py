"""aiokafka's transactional producer, beside the plain one of the driver.

aiokafka (0.12) speaks the classic protocol, and sends offsets with the name of the group alone: a
member of an earlier generation is not fenced by its group (KIP-447), only by its transactional id.
A call that takes too long is not tried again: the library cannot be asked to go on with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import IllegalOperation, KafkaError, ProducerFenced

from harness.client.aiokafka_producer import AiokafkaProducing
from harness.client.aiokafka_settings import driver_error
from harness.client.base import ClientSettings
from harness.client.driver import DriverError, Stored, ToStore, place_of
from harness.client.transactions_driver import ProducerIdentity, TransactionError

_NOT_BEGUN = TransactionError("_STATE", "no transactional producer", recovery="close")


class AiokafkaTransactions:
    """The part of the driver that is about transactions."""

    def __init__(self, settings: ClientSettings, common: Mapping[str, Any]) -> None:
        self._settings = settings
        self._common = common
        self._transactional: AiokafkaProducing | None = None

    def group_name(self) -> str:
        """The group that the offsets of a transaction belong to."""
        raise NotImplementedError

    async def init_transactions(self, transactional_id: str, timeout_ms: int) -> None:
        await self.drop_transactions()
        self._transactional = await self._begun(transactional_id, timeout_ms)

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        producing = await self._begun(transactional_id, timeout_ms)
        await producing.close()

    def producer_identity(self) -> ProducerIdentity:
        manager = None if self._transactional is None else self._transactional.transaction_manager
        if manager is None:
            return ProducerIdentity(protocol=1)
        return ProducerIdentity(manager.producer_id, manager.producer_epoch, 1)

    async def begin_transaction(self) -> None:
        await self._done(self._producer().begin_transaction())

    async def produce_in_transaction(
        self, records: Sequence[ToStore]
    ) -> list[Stored | DriverError]:
        if self._transactional is None:
            raise _NOT_BEGUN
        return await self._transactional.produce(records)

    async def send_offsets(self, offsets: Mapping[str, int]) -> None:
        where = {
            TopicPartition(place_of(key).topic, place_of(key).partition): offset
            for key, offset in offsets.items()
        }
        await self._done(self._producer().send_offsets_to_transaction(where, self.group_name()))

    async def commit_transaction(self) -> None:
        await self._done(self._producer().commit_transaction())

    async def abort_transaction(self) -> None:
        await self._done(self._producer().abort_transaction())

    async def drop_transactions(self) -> None:
        producing, self._transactional = self._transactional, None
        if producing is not None:
            await producing.close()

    async def _begun(self, transactional_id: str, timeout_ms: int) -> AiokafkaProducing:
        more = {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": timeout_ms,
            "enable_idempotence": True,
            "acks": "all",
        }
        producing = AiokafkaProducing(self._settings, self._common, more)
        try:
            async with asyncio.timeout(self._settings.delivery_timeout_ms / 1000):
                await producing.start()
        except TimeoutError:
            await producing.close()
            raise TransactionError("_TIMED_OUT", "not begun in time", recovery="close") from None
        except KafkaError as error:
            await producing.close()
            raise _close(error) from error
        return producing

    def _producer(self) -> Any:
        if self._transactional is None:
            raise _NOT_BEGUN
        return self._transactional.producer

    async def _done(self, call: Awaitable[None]) -> None:
        """Whatever fails, aiokafka can only abort, or not even that."""
        try:
            async with asyncio.timeout(self._settings.delivery_timeout_ms / 1000):
                await call
        except TimeoutError:
            raise TransactionError("_TIMED_OUT", "no answer in time", recovery="close") from None
        except (IllegalOperation, AssertionError) as error:
            # So it says that its state does not allow the call, which sends nothing.
            raise TransactionError("_STATE", str(error), recovery="close", harmless=True) from error
        except ProducerFenced as error:
            raise TransactionError("PRODUCER_FENCED", str(error), recovery="close") from error
        except KafkaError as error:
            manager = (
                None if self._transactional is None else self._transactional.transaction_manager
            )
            if manager is None or manager.is_fatal_error():
                raise _close(error) from error
            named = driver_error(error)
            raise TransactionError(named.name, named.message, recovery="abort") from error


def _close(error: KafkaError) -> TransactionError:
    named = driver_error(error)
    return TransactionError(named.name, named.message, recovery="close")
