"""Our own small Kafka client: connections, metadata, producers, readers, administration.

It uses only what it is given: the running loop, a `Network`, a clock for timestamps, randomness for
its back-offs. Every outcome is one of three: done, certainly not done, unknown. Members of groups
are in files of their own, which use this one (member.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from types import TracebackType
from typing import Any, TypeVar

from broker.network.interface import Address, Network
from broker.protocol.apis import ApiKey
from harness.native.admin import Admin
from harness.native.errors import ClientError, RequestTimedOutError
from harness.native.metadata import Metadata
from harness.native.nodes import Nodes
from harness.native.partition_sender import ProducerSettings
from harness.native.producer import Producer
from harness.native.reader import Reader
from harness.native.settings import Backoff, ClientSettings
from harness.native.transactional import TransactionalProducer

T = TypeVar("T")

TRANSACTION_TIMEOUT_MS = 60_000
"""Kafka's default of transaction.timeout.ms."""


class Client:
    """Connects when it is first used. Close it, or use it in `async with`."""

    def __init__(
        self,
        network: Network,
        bootstrap: Sequence[Address],
        *,
        random: Random,
        now_ms: Callable[[], int],
        settings: ClientSettings | None = None,
    ) -> None:
        """`now_ms` stamps the records; durations are measured by the loop."""
        self.settings = settings or ClientSettings()
        self.random = random
        self.now_ms = now_ms
        self.nodes = Nodes(network, bootstrap, self.settings, random)
        self.metadata = Metadata(self.nodes, self.settings)
        self.admin = Admin(self)
        self._backoff = Backoff(
            self.settings.retry_backoff_s, self.settings.retry_backoff_max_s, random
        )
        self._producers: list[Producer | TransactionalProducer] = []
        self._readers = 0

    def producer(self, settings: ProducerSettings | None = None) -> Producer:
        producer = Producer(
            self, settings or ProducerSettings(), lane=f"producer {len(self._producers)}"
        )
        self._producers.append(producer)
        return producer

    def transactional_producer(
        self,
        transactional_id: str,
        *,
        timeout_ms: int = TRANSACTION_TIMEOUT_MS,
        settings: ProducerSettings | None = None,
    ) -> TransactionalProducer:
        """Nothing is sent before its `init`."""
        producer = TransactionalProducer(
            self,
            transactional_id,
            timeout_ms=timeout_ms,
            settings=settings or ProducerSettings(),
            lane=f"producer {len(self._producers)}",
        )
        self._producers.append(producer)
        return producer

    def reader(self) -> Reader:
        """Each has connections of its own: a fetch that waits holds up no other reader."""
        self._readers += 1
        return Reader(self, lane=f"reader {self._readers}")

    async def make_known(self, node_id: int) -> None:
        """Before a node is asked that the caller has chosen, and nobody may have named yet."""
        if not self.nodes.is_known(node_id):
            await self.metadata.refresh()

    async def ask_anyone(self, key: ApiKey, body: Any, *, at_least: int = 0) -> Any:
        """For what every broker can answer. One after the other, until one of them does."""

        async def ask(node_id: int) -> Any:
            return await self.nodes.ask(node_id, key, body, at_least=at_least)

        return await self.nodes.first_answer(ask, self.settings.request_timeout_s)

    async def retried(
        self,
        attempt: Callable[[], Awaitable[T]],
        timeout_s: float | None = None,
        *,
        may_be_done_twice: bool = True,
    ) -> T:
        """Again and again until it succeeds or the time is up.

        What may not be done twice is tried again only after a failure that changed nothing.
        """
        loop = asyncio.get_running_loop()
        if timeout_s is None:
            timeout_s = self.settings.call_timeout_s
        deadline = loop.time() + timeout_s
        failures = 0
        last: ClientError | None = None
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await attempt()
            except TimeoutError:
                # Not the last failure: that one may be definite, and this attempt is not.
                told = f"not done within {timeout_s} s; before: {last}"
                raise RequestTimedOutError(told) from None
            except ClientError as error:
                if not error.is_retriable or not (may_be_done_twice or error.is_definite):
                    raise
                last = error
            failures += 1
            pause_s = self._backoff.after(failures)
            if loop.time() + pause_s >= deadline:
                raise last
            await asyncio.sleep(pause_s)
            self.metadata.invalidate()

    async def close(self) -> None:
        for producer in self._producers:
            await producer.close()
        self.nodes.close()
        if self.settings.requests is not None:
            self.settings.requests.flush()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
