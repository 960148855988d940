"""Transactional producers of several libraries behind one small interface."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaException, Producer
from kafka import KafkaProducer

from tests.clients.speaker import TIMEOUT_S


class TransactionalProducer(Protocol):
    """Made with a bootstrap address, a transactional id and a timeout. Raises what the library
    raises."""

    def begin(self) -> None: ...

    def send(self, topic: str, partition: int, value: bytes) -> None:
        """Until the broker has it."""
        ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class ConfluentProducer:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "socket.timeout.ms": min(timeout_ms, 60_000),
                "message.timeout.ms": min(timeout_ms, 60_000),
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self._producer.init_transactions(TIMEOUT_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        reports: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            reports.append(error)

        self._producer.produce(topic, value, partition=partition, on_delivery=delivered)
        # Not flush: when a producer is fenced, flush calls `delivered` after the fatal error was
        # set as Python's exception, and ends with a SystemError (confluent-kafka 2.16).
        deadline = time.monotonic() + TIMEOUT_S
        while not reports and time.monotonic() < deadline:
            self._producer.poll(0.1)
        assert reports, f"no report of a record in {TIMEOUT_S} s"
        if reports[0] is not None:
            raise KafkaException(reports[0])

    def commit(self) -> None:
        self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(TIMEOUT_S)

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(1)


class KafkaPythonProducer:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
        )
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._producer.send(topic, value, partition=partition).get(TIMEOUT_S)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=1)


class AiokafkaProducer:
    """Its loop runs while a call waits."""

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._runner = asyncio.Runner()

        async def start() -> AIOKafkaProducer:
            producer = AIOKafkaProducer(
                bootstrap_servers=bootstrap,
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
            )
            await producer.start()
            return producer

        self._producer = self._runner.run(start())

    def begin(self) -> None:
        self._runner.run(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._runner.run(self._producer.send_and_wait(topic, value, partition=partition))

    def commit(self) -> None:
        self._runner.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._runner.run(self._producer.abort_transaction())

    def close(self) -> None:
        async def stop() -> None:
            try:
                async with asyncio.timeout(2):
                    await self._producer.stop()
            except Exception:
                # A fenced one complains once more.
                await self._producer.client.close()

        self._runner.run(stop())
        self._runner.close()


PRODUCERS: dict[str, Callable[..., TransactionalProducer]] = {
    "confluent-kafka": ConfluentProducer,
    "kafka-python": KafkaPythonProducer,
    "aiokafka": AiokafkaProducer,
}
