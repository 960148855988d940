"""librdkafka's transactional producer, beside the plain one of the driver.

librdkafka (2.16) speaks the classic protocol of transactions: it adds partitions by itself, and its
epoch lasts until the producer is fenced or has to give a transaction up. An error says by itself
what is possible next: it is retriable, or the transaction has to be aborted, or all is over.

Calls block up to a time-out of ours and then raise _TIMED_OUT, which is retriable: the same call
goes on with the request that is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from harness.client.base import ClientSettings
from harness.client.confluent_sends import Burst, Patience, Portions
from harness.client.driver import DriverError, Stored, ToStore, place_of
from harness.client.librdkafka import LOGGER, Config, driver_error, producer_config, refused_config
from harness.client.transactions_driver import ProducerIdentity, Recovery, TransactionError

_CALL_S = 5.0
_GRACE_S = 2.0
_CLASSIC = ProducerIdentity(protocol=1)
_NOT_BEGUN = TransactionError("_STATE", "no transactional producer", recovery="close")


class ConfluentTransactions:
    """The part of the driver that is about transactions."""

    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        self._settings = settings
        self._client_id = client_id
        self._transactional: Producer | None = None
        self._sizes: Portions | None = None

    def group_consumer(self) -> Consumer:
        """The consumer whose group the offsets of a transaction belong to."""
        raise NotImplementedError

    async def init_transactions(self, transactional_id: str, timeout_ms: int) -> None:
        if self._transactional is None:
            config = self._config(transactional_id, timeout_ms)
            self._sizes = Portions(config)
            self._transactional = self._new(config)
        producer = self._transactional
        try:
            _called(lambda: producer.init_transactions(_CALL_S))
        except TransactionError as error:
            if error.recovery != "retry":
                self.drop_transactions()
            raise

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        producer = self._new(self._config(transactional_id, timeout_ms))
        _called(lambda: producer.init_transactions(_CALL_S))

    def producer_identity(self) -> ProducerIdentity:
        """librdkafka tells neither the producer's id nor its epoch."""
        return _CLASSIC

    async def begin_transaction(self) -> None:
        producer = self._producer_of_transactions()
        _called(producer.begin_transaction)

    async def produce_in_transaction(
        self, records: Sequence[ToStore]
    ) -> list[Stored | DriverError]:
        producer = self._producer_of_transactions()
        assert self._sizes is not None, "it is made with the producer"
        patience_s = self._settings.delivery_timeout_ms / 1000
        to_end_s = patience_s + self._settings.request_timeout_ms / 1000 + _GRACE_S
        burst = Burst(producer, records, self._sizes.of(records))
        return burst.send({}, Patience(patience_s, to_end_s))

    async def send_offsets(self, offsets: Mapping[str, int]) -> None:
        producer, consumer = self._producer_of_transactions(), self.group_consumer()
        where = [
            TopicPartition(place_of(key).topic, place_of(key).partition, offset)
            for key, offset in offsets.items()
        ]
        metadata = consumer.consumer_group_metadata()
        _called(lambda: producer.send_offsets_to_transaction(where, metadata, _CALL_S))

    async def commit_transaction(self) -> None:
        producer = self._producer_of_transactions()
        _called(lambda: producer.commit_transaction(_CALL_S))

    async def abort_transaction(self) -> None:
        producer = self._producer_of_transactions()
        _called(lambda: producer.abort_transaction(_CALL_S))

    def drop_transactions(self) -> None:
        """At once: what is under way is dropped, and an open transaction is left to time out."""
        producer, self._transactional = self._transactional, None
        if producer is not None:
            # A fenced producer raises its fatal error once more.
            with suppress(KafkaException):
                producer.purge()
                producer.poll(0)

    def _producer_of_transactions(self) -> Producer:
        if self._transactional is None:
            raise _NOT_BEGUN
        return self._transactional

    def _config(self, transactional_id: str, timeout_ms: int) -> Config:
        settings = self._settings
        ours = producer_config(settings, self._client_id)
        # librdkafka refuses deliveries that may take longer than the transaction.
        delivery_ms = min(settings.delivery_timeout_ms, timeout_ms)
        return {
            **ours,
            "enable.idempotence": True,
            "acks": "all",
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": delivery_ms,
            "socket.timeout.ms": min(settings.request_timeout_ms, timeout_ms),
        }

    def _new(self, config: Config) -> Producer:
        made: Any = config
        try:
            return Producer(made, logger=LOGGER)
        except (KafkaException, ValueError, TypeError) as error:
            raise refused_config(self._client_id, error) from error


def _called(call: Callable[[], Any]) -> None:
    try:
        call()
    except KafkaException as error:
        raise transaction_error(error.args[0]) from error


def transaction_error(error: KafkaError) -> TransactionError:
    named = driver_error(error)
    return TransactionError(named.name, named.message, recovery=_recovery(error))


def _recovery(error: KafkaError) -> Recovery:
    if error.fatal():
        return "close"
    if error.txn_requires_abort():
        return "abort"
    return "retry" if error.retriable() else "close"
