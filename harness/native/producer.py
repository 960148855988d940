"""A producer: sends batches, several of them in flight, and says what became of each.

Each partition has a sender of its own (partition_sender.py). One call is one batch: no lingering,
so that a test says what is sent together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker.protocol.records import Record
from harness.client.traffic import Meter
from harness.native.errors import ClientClosedError
from harness.native.partition_sender import IdempotentSession, PartitionSender, ProducerSettings
from harness.native.produce_queue import Batch, Outcome

if TYPE_CHECKING:
    from harness.native.client import Client

KeyAndValue = tuple[bytes | None, bytes | None]


class Producer:
    """Made by `Client.producer`. `lane` keeps its requests off the connections of others."""

    def __init__(self, client: Client, settings: ProducerSettings, lane: str) -> None:
        self.settings = settings
        self._client = client
        self._lane = lane
        self._senders: dict[tuple[str, int], PartitionSender] = {}
        self._closed = False
        self._session = IdempotentSession(client)
        self.meter = Meter()

    @property
    def resets(self) -> int:
        """How often a partition went on under a new producer id, after a gap in the old one."""
        return sum(sender.queue.resets for sender in self._senders.values())

    def submit(
        self,
        topic: str,
        partition: int,
        pairs: Sequence[KeyAndValue],
        *,
        timestamps_ms: Sequence[int] | None = None,
    ) -> asyncio.Future[Outcome]:
        """One batch. The order of calls is the order in the log, for an idempotent producer.

        Each record has its timestamp; without `timestamps_ms` it is the client's time.
        """
        if self._closed:
            raise ClientClosedError("the producer is closed")
        batch = batch_of(pairs, timestamps_ms, self._client.now_ms)
        sender = self._senders.get((topic, partition))
        if sender is None:
            sender = self._senders[topic, partition] = PartitionSender(
                self._client, self.settings, self._lane, topic, partition, self.meter, self._session
            )
        return sender.submit(batch)

    async def send(
        self, topic: str, partition: int, value: bytes | None, key: bytes | None = None
    ) -> Outcome:
        return await self.submit(topic, partition, [(key, value)])

    async def flush(self) -> None:
        """Until everything submitted so far is settled."""
        for sender in list(self._senders.values()):
            await sender.flush()

    async def close(self) -> None:
        """At once: what is not settled becomes failed or unknown. Flush first to wait for it."""
        self._closed = True
        for sender in self._senders.values():
            await sender.close()


def batch_of(
    pairs: Sequence[KeyAndValue],
    timestamps_ms: Sequence[int] | None,
    now_ms: Callable[[], int],
) -> Batch:
    """Each record has its timestamp; without `timestamps_ms` it is the client's time."""
    if not pairs:
        raise ValueError("a batch needs at least one record")
    if timestamps_ms is None:
        timestamps_ms = [now_ms()] * len(pairs)
    stamped = zip(pairs, timestamps_ms, strict=True)
    return Batch([Record(at, stamp, *pair) for at, (pair, stamp) in enumerate(stamped)])
