"""aiokafka as the client of a run: does the operations of a schedule, and notes what came.

Import this module where you like; aiokafka itself is imported when an actor begins, which must be
inside `foreign_clients`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.native.produce_queue import Delivered, Unknown
from harness.schedule.schedule import Operation
from harness.sim.operations import TOPIC
from harness.sim.record import Record, Seen, Sent
from harness.sim.stage import Stage

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

REQUEST_TIMEOUT_MS = 10_000
_POLL_MS = 100
_START_AGAIN_S = 0.5


class AiokafkaActor:
    """One client on a host of its own: an idempotent producer, or a consumer without a group."""

    def __init__(self, name: str, stage: Stage, record: Record, *, partitions: int) -> None:
        self.name = name
        self._loop = stage.simulation.loop
        self._record = record
        self._partitions = partitions
        self._bootstrap = [f"{node}:9092" for node in stage.cluster.nodes]
        self._unsettled: dict[asyncio.Future[Any], Sent] = {}

    async def run(self, operations: Sequence[Operation]) -> None:
        kinds = {operation.do for operation in operations}
        if "send" in kinds:
            await self._produce([each for each in operations if each.do == "send"])
        if "poll" in kinds:
            await self._consume([each for each in operations if each.do == "poll"])

    async def _until(self, operation: Operation) -> None:
        wait_s = operation.at_ms / 1000 - self._loop.time()
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    # Writing

    async def _produce(self, operations: Sequence[Operation]) -> None:
        producer = await self._producer()
        try:
            for operation in operations:
                await self._until(operation)
                partition = operation.arguments["partition"]
                value: str = operation.arguments["value"]
                sent = Sent(self.name, partition, value, self._loop.time())
                self._record.sends.append(sent)
                settled = await producer.send(TOPIC, value.encode(), partition=partition)
                self._unsettled[settled] = sent
                settled.add_done_callback(self._settled)
            while self._unsettled:
                await asyncio.wait(list(self._unsettled))
        finally:
            await producer.stop()

    async def _producer(self) -> AIOKafkaProducer:
        from aiokafka import AIOKafkaProducer

        while True:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                client_id=self.name,
                acks="all",
                enable_idempotence=True,
                request_timeout_ms=REQUEST_TIMEOUT_MS,
            )
            if await self._has_begun(producer):
                return producer

    def _settled(self, done: asyncio.Future[Any]) -> None:
        sent = self._unsettled.pop(done)
        sent.done_s = self._loop.time()
        error = done.exception()
        # Which of its errors are certain, aiokafka does not say.
        sent.outcome = Delivered(done.result().offset) if error is None else Unknown(repr(error))

    # Reading

    async def _consume(self, operations: Sequence[Operation]) -> None:
        from aiokafka import TopicPartition
        from aiokafka.errors import KafkaError

        consumer = await self._consumer()
        try:
            consumer.assign([TopicPartition(TOPIC, each) for each in range(self._partitions)])
            for operation in operations:
                await self._until(operation)
                where = TopicPartition(TOPIC, operation.arguments["partition"])
                self._record.polls += 1
                try:
                    found = await consumer.getmany(where, timeout_ms=_POLL_MS)
                except KafkaError:
                    self._record.failed_polls += 1
                else:
                    self._note(found)
        finally:
            await consumer.stop()

    async def read_everything(self, ends: dict[int, int]) -> None:
        """Each partition up to its end, which somebody else has asked for."""
        from aiokafka import TopicPartition

        consumer = await self._consumer()
        try:
            consumer.assign([TopicPartition(TOPIC, partition) for partition in ends])
            for partition, end in ends.items():
                reading = self._record.last_reading[partition] = list[Seen]()
                where = TopicPartition(TOPIC, partition)
                while await consumer.position(where) < end:
                    reading += self._seen(await consumer.getmany(where, timeout_ms=_POLL_MS))
        finally:
            await consumer.stop()

    async def _consumer(self) -> AIOKafkaConsumer:
        from aiokafka import AIOKafkaConsumer

        while True:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._bootstrap,
                client_id=self.name,
                group_id=None,
                auto_offset_reset="earliest",
                request_timeout_ms=REQUEST_TIMEOUT_MS,
            )
            if await self._has_begun(consumer):
                return consumer

    async def _has_begun(self, client: AIOKafkaProducer | AIOKafkaConsumer) -> bool:
        """False when no node answered: it may be a bad moment, and the next one better."""
        from aiokafka.errors import KafkaError

        try:
            await client.start()
        except KafkaError:
            await client.stop()
            await asyncio.sleep(_START_AGAIN_S)
            return False
        return True

    def _note(self, found: dict[Any, list[Any]]) -> None:
        self._record.seen += self._seen(found)

    def _seen(self, found: dict[Any, list[Any]]) -> list[Seen]:
        now_s = self._loop.time()
        return [
            Seen(where.partition, each.offset, each.value.decode(), self.name, now_s)
            for where, records in found.items()
            for each in records
        ]
