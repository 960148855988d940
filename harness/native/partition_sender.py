"""Sends the batches of one partition: one task that finds the leader and sends what `ProduceQueue`
allows. Answers come back as callbacks.

Whose batches they are is the session's to say: an idempotent producer's, with an id of its own for
each partition, or a transaction's (harness/native/transactional.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode
from broker.protocol.records import build_batch
from broker.protocol.schema import ZERO_UUID
from harness.client.traffic import Meter
from harness.native.connection import BrokerConnection
from harness.native.errors import ClientClosedError, ClientError, check, known_code
from harness.native.metadata import Leader
from harness.native.produce_queue import (
    IN_FLIGHT_MAX,
    NO_OFFSET,
    Batch,
    Identity,
    Outcome,
    ProduceQueue,
)
from harness.native.settings import Backoff

if TYPE_CHECKING:
    from harness.native.client import Client

ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1

_LAST_VERSION_BY_NAME = 12
_FIRST_VERSION_WITH_ZSTD = 7


class Session(Protocol):
    """Under which id batches are sent."""

    transactional_id: str | None
    produce_versions: tuple[int, int]
    """First and last version of Produce that may be spoken."""

    async def identity(self) -> Identity:
        """For the next batches. Raises ClientError."""
        ...

    async def admit(self, topic: str, partition: int) -> None:
        """Before a batch of this partition is sent. Raises ClientError."""
        ...


_ANY_VERSION = (0, 1 << 15)


class IdempotentSession:
    """A new producer id whenever one is needed."""

    transactional_id: str | None = None
    produce_versions = _ANY_VERSION

    def __init__(self, client: Client) -> None:
        self._client = client

    async def identity(self) -> Identity:
        body = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        answer = await self._client.ask_anyone(ApiKey.INIT_PRODUCER_ID, body)
        check(answer.error_code, place="InitProducerId")
        return Identity(answer.producer_id, answer.producer_epoch)

    async def admit(self, topic: str, partition: int) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    acks: int = ACKS_ALL
    idempotent: bool = True
    in_flight_max: int = IN_FLIGHT_MAX
    """Batches of one partition."""
    retries: int | None = None
    """None: as long as the delivery time-out allows. Without idempotence a retry may double."""
    codec: Codec = Codec.NONE
    delivery_timeout_s: float | None = None
    """None: the client's."""

    def __post_init__(self) -> None:
        if self.acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
            raise ValueError(f"acks is {self.acks}; try -1 for all, 0 or 1")
        if self.idempotent and self.acks != ACKS_ALL:
            raise ValueError(f"an idempotent producer needs acks=all (-1), not {self.acks}")


class PartitionSender:
    def __init__(
        self,
        client: Client,
        settings: ProducerSettings,
        lane: str,
        topic: str,
        partition: int,
        meter: Meter,
        session: Session,
    ) -> None:
        self._meter = meter
        self._session = session
        self.queue = ProduceQueue(
            idempotent=settings.idempotent,
            in_flight_max=settings.in_flight_max,
            retries=settings.retries,
            renumbers=session.transactional_id is None,
        )
        self._client = client
        self._settings = settings
        self._lane = lane
        self._topic = topic
        self._partition = partition
        self._loop = asyncio.get_running_loop()
        self._outcomes: dict[Batch, asyncio.Future[Outcome]] = {}
        self._timers: dict[Batch, asyncio.TimerHandle] = {}
        self._encoded: dict[Batch, tuple[Identity | None, bytes]] = {}
        self._failures = 0
        self._failed_this_round = False
        self._sent_to: int | None = None
        patience = client.settings
        self._backoff = Backoff(
            patience.retry_backoff_s, patience.retry_backoff_max_s, client.random
        )
        self._wake = asyncio.Event()
        self._task = self._loop.create_task(self._work(), name=f"produce {topic}-{partition}")

    def submit(self, batch: Batch) -> asyncio.Future[Outcome]:
        outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._outcomes[batch] = outcome
        delivery_s = self._settings.delivery_timeout_s
        if delivery_s is None:
            delivery_s = self._client.settings.delivery_timeout_s
        self._timers[batch] = self._loop.call_later(delivery_s, self._expire, batch)
        self.queue.add(batch)
        self._wake.set()
        return outcome

    async def flush(self) -> None:
        for outcome in list(self._outcomes.values()):
            if not outcome.done():
                await asyncio.shield(outcome)

    async def wind_down(self) -> None:
        """Gives up what waits, and waits for what is in flight, which is not sent again."""
        self.queue.stop_retrying()
        for batch in self.queue.batches:
            if not batch.in_flight:
                self._tell(batch, self.queue.give_up(batch))
        await self.flush()

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        for batch in self.queue.batches:
            self._tell(batch, self.queue.give_up(batch))

    async def _work(self) -> None:
        try:
            await self._send_for_ever()
        except Exception as bug:
            for outcome in self._outcomes.values():
                if not outcome.done():
                    outcome.set_exception(bug)
            raise

    async def _send_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._failures:
                await asyncio.sleep(self._backoff.after(self._failures))
            if not self.queue.needs_identity and not self.queue.sendable():
                continue
            try:
                if self.queue.needs_identity:
                    identity = await self._session.identity()
                    if self.queue.needs_identity:
                        self.queue.take_identity(identity)
                await self._session.admit(self._topic, self._partition)
                leader = await self._client.metadata.leader(self._topic, self._partition)
                connection = await self._client.nodes.connection(leader.node_id, self._lane)
                self._failed_this_round = False
                if self._overtakes(leader.node_id):
                    continue  # an answer, or its absence, wakes this task again
                self._sent_to = leader.node_id
                for batch in self.queue.sendable():
                    self._send(connection, batch)
            except ClientError as error:
                self._cannot_send(error)

    def _overtakes(self, leader_id: int) -> bool:
        """Whether a batch to this leader could be written before one that another node still has.

        A leader that has no record of a producer takes any first sequence, as Kafka's does
        (KIP-360), so sequence numbers alone do not keep the order of a producer's first batches.
        """
        if not self._settings.idempotent or leader_id == self._sent_to:
            return False
        return any(batch.in_flight for batch in self.queue.batches)

    def _cannot_send(self, error: ClientError) -> None:
        self._failed_this_round = False
        self._failed()
        for batch in self.queue.batches:
            if not batch.in_flight:
                batch.last_reason = str(error)
                if not error.is_retriable:
                    self._tell(batch, self.queue.give_up(batch))

    def _send(self, connection: BrokerConnection, batch: Batch) -> None:
        topic_id = self._client.metadata.topic_id(self._topic)
        version = self._version(connection, topic_id)
        self.queue.sent(batch)
        batch.node_id = self._sent_to
        body = self._request(batch, topic_id)
        size = [(len(batch.records), len(self._bytes_of(batch)))]
        self._meter.sent(size)
        if self._settings.acks == ACKS_NONE:
            try:
                connection.tell(ApiKey.PRODUCE, version, body)
            except ClientError as error:
                self._lost(batch, error)
            else:
                self._tell(batch, self.queue.accepted(batch, NO_OFFSET))
                self._wake.set()  # no answer will, and there is room for the next
            self._meter.ended(size)
            return
        answer = connection.ask(
            ApiKey.PRODUCE, version, body, self._client.settings.request_timeout_s
        )
        answer.add_done_callback(lambda done: self._answered(batch, size, done))

    def _version(self, connection: BrokerConnection, topic_id: bytes) -> int:
        at_least, at_most = self._session.produce_versions
        if self._settings.codec == Codec.ZSTD:
            at_least = max(at_least, _FIRST_VERSION_WITH_ZSTD)
        if topic_id == ZERO_UUID:
            at_most = min(at_most, _LAST_VERSION_BY_NAME)
        return connection.version_of(ApiKey.PRODUCE, at_least=at_least, at_most=at_most)

    def _request(self, batch: Batch, topic_id: bytes) -> m.ProduceRequest:
        data = m.PartitionProduceData(index=self._partition, records=self._bytes_of(batch))
        return m.ProduceRequest(
            transactional_id=self._session.transactional_id,
            acks=self._settings.acks,
            timeout_ms=int(self._client.settings.request_timeout_s * 1000),
            topic_data=[
                m.TopicProduceData(name=self._topic, topic_id=topic_id, partition_data=[data])
            ],
        )

    def _bytes_of(self, batch: Batch) -> bytes:
        kept = self._encoded.get(batch)
        if kept is not None and kept[0] == batch.identity:
            return kept[1]
        identity = batch.identity or Identity(-1, -1)
        encoded = bytes(
            build_batch(
                batch.records,
                codec=self._settings.codec,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=batch.sequence,
                attributes=0 if self._session.transactional_id is None else TRANSACTIONAL,
            )
        )
        self._encoded[batch] = (batch.identity, encoded)
        return encoded

    def _answered(
        self, batch: Batch, size: Sequence[tuple[int, int]], done: asyncio.Future[Any]
    ) -> None:
        self._meter.ended(size)
        if done.cancelled():
            self._lost(batch, ClientClosedError("given up"))
            return
        error = done.exception()
        if isinstance(error, ClientError):
            self._lost(batch, error)
            return
        (topic,) = done.result().responses
        (part,) = topic.partition_responses
        code = known_code(part.error_code)
        if code == ErrorCode.NONE:
            self._failures = 0
            outcome = self.queue.accepted(batch, part.base_offset)
        else:
            self._learn_leader(part, done.result())
            self._failed()
            outcome = self.queue.refused(batch, code, part.error_message or "")
        self._tell(batch, outcome)
        self._wake.set()

    def _learn_leader(self, part: m.PartitionProduceResponse, answer: m.ProduceResponse) -> None:
        if part.current_leader is None:
            return
        leader = Leader(part.current_leader.leader_id, part.current_leader.leader_epoch)
        addresses = {each.node_id: Address(each.host, each.port) for each in answer.node_endpoints}
        self._client.metadata.learn_leader(self._topic, self._partition, leader, addresses)

    def _lost(self, batch: Batch, error: ClientError) -> None:
        self._failed()
        self._tell(batch, self.queue.lost(batch, str(error)))

    def _failed(self) -> None:
        # Batches that were sent together mostly fail together, and that is one failure.
        if not self._failed_this_round:
            self._failed_this_round = True
            self._failures += 1
        self._client.metadata.invalidate()
        self._wake.set()

    def _expire(self, batch: Batch) -> None:
        self._tell(batch, self.queue.give_up(batch))
        self._wake.set()

    def _tell(self, batch: Batch, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        self._timers.pop(batch).cancel()
        self._encoded.pop(batch, None)
        told = self._outcomes.pop(batch)
        if not told.done():
            told.set_result(outcome)
