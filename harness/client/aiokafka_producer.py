"""aiokafka's producer as a driver uses it: it starts when it is first needed, and ends at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.partitioner import DefaultPartitioner

from harness.client.aiokafka_settings import arguments, driver_error
from harness.client.aiokafka_wire import WireWatch
from harness.client.base import ClientSettings
from harness.client.driver import ANY_PARTITION, DriverError, Place, Stored, ToStore
from harness.client.partitioners import CUSTOM, OTHERS, by_number
from harness.client.traffic import Traffic

_DEFAULT = DefaultPartitioner()


class AiokafkaProducing:
    def __init__(
        self,
        settings: ClientSettings,
        common: Mapping[str, Any],
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """`more` are further arguments of the library's producer, and win."""
        self._settings = settings
        self._more = more or {}
        self._common = common
        self._patience_s = settings.delivery_timeout_ms / 1000
        self._producer: AIOKafkaProducer | None = None
        self._wire = WireWatch()
        self.partitioner = OTHERS[settings.batching.partitioner]
        self._chosen: int | None = None
        """Partition of the record that is being handed over, if the client chose it."""

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await self._drop(producer)

    def traffic(self) -> Traffic:
        return self._wire.meter.take()

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        """aiokafka has one batch of a partition in flight at a time, and fills the next meanwhile.

        A full batch makes `send` wait, so a partition without a leader may hold up the records
        behind it; what was not handed to the library when the time is up was never sent.
        """
        deadline = asyncio.get_running_loop().time() + self._patience_s
        ends: list[asyncio.Future[Any] | DriverError] = []
        partitions: list[int | None] = []
        for record in records:
            self._chosen = None
            ends.append(await self._handed_over(record, deadline))
            partitions.append(self._chosen)
        waiting = [end for end in ends if isinstance(end, asyncio.Future)]
        if waiting:
            left_s = deadline - asyncio.get_running_loop().time()
            await asyncio.wait(waiting, timeout=max(0.0, left_s))
        return [
            end if isinstance(end, DriverError) else self._end_of(record.place, end, partition)
            for record, end, partition in zip(records, ends, partitions, strict=True)
        ]

    async def partitions_of(self, topic: str) -> int:
        return len(await (await self._started()).partitions_for(topic))

    def _choose(self, key: bytes, every: list[int], available: list[int]) -> int:
        """What aiokafka asks for a record without a partition; its own choice is remembered."""
        if self.partitioner == CUSTOM:
            self._chosen = every[by_number(key, len(every))]
        else:
            self._chosen = _DEFAULT(key, every, available)
        return self._chosen

    async def _handed_over(
        self, record: ToStore, deadline: float
    ) -> asyncio.Future[Any] | DriverError:
        place, key, payload, timestamp_ms = record
        try:
            async with asyncio.timeout_at(deadline):
                producer = await self._started()
                partition = None if place.partition == ANY_PARTITION else place.partition
                settled: asyncio.Future[Any] = await producer.send(
                    place.topic,
                    payload,
                    key=key,
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                )
                return settled
        except TimeoutError:
            return DriverError("_TIMED_OUT", "not sent in time", harmless=True)
        except AssertionError as error:  # so aiokafka says that there is no such partition
            return DriverError("UNKNOWN_TOPIC_OR_PARTITION", str(error), harmless=True)
        except KafkaError as error:
            return driver_error(error, harmless=True)

    def _end_of(
        self, place: Place, settled: asyncio.Future[Any], chosen: int | None
    ) -> Stored | DriverError:
        if not settled.done():
            settled.add_done_callback(_take_note)
            return DriverError("_TIMED_OUT", "not settled in time", partition=chosen)
        if settled.cancelled():
            return DriverError("_TIMED_OUT", "given up by the library", partition=chosen)
        error = settled.exception()
        if isinstance(error, KafkaError):
            refused = driver_error(error)
            refused.partition = chosen
            return refused
        if error is not None:
            raise error
        assert self._producer is not None, "it has sent"
        told = settled.result()
        partition = place.partition if chosen is None else chosen
        leader = self._producer.client.cluster.leader_for_partition(
            TopicPartition(place.topic, partition)
        )
        offset = None if told is None or told.offset < 0 else told.offset
        node = f"n{leader}" if leader is not None and leader >= 0 else None
        return Stored(offset, node, partition)

    def made(self) -> AIOKafkaProducer:
        settings, codec = self._settings, self._settings.batching.codec
        return AIOKafkaProducer(
            **{
                **self._common,
                "acks": "all" if settings.acks == "all" else int(settings.acks),
                "enable_idempotence": settings.enable_idempotence,
                "request_timeout_ms": settings.delivery_timeout_ms,
                "linger_ms": settings.batching.linger_ms,
                "max_batch_size": settings.batching.batch_bytes,
                "compression_type": None if codec == "none" else codec,
                "partitioner": self._choose,
                **arguments(AIOKafkaProducer, settings.producer_config),
                **self._more,
            }
        )

    async def start(self) -> None:
        await self._started()

    @property
    def producer(self) -> AIOKafkaProducer:
        assert self._producer is not None, "start it first"
        return self._producer

    @property
    def transaction_manager(self) -> Any:
        return None if self._producer is None else self._producer._txn_manager

    async def _started(self) -> AIOKafkaProducer:
        if self._producer is None:
            producer = self.made()
            self._wire.watch(producer)
            try:
                await producer.start()
            except BaseException:
                await self._drop(producer)
                raise
            self._producer = producer
        return self._producer

    async def _drop(self, producer: AIOKafkaProducer) -> None:
        """At once: AIOKafkaProducer.stop would send what is left, and wait for it."""
        producer._closed = True
        under_way = set(self._wire.tasks)
        if producer._sender.sender_task is not None:
            under_way.add(producer._sender.sender_task)
        for task in under_way:
            task.cancel()
        await producer.client.close()
        await asyncio.gather(*under_way, return_exceptions=True)


def _take_note(settled: asyncio.Future[Any]) -> None:
    """Of an end that nobody waits for any more: asyncio would complain of it."""
    if not settled.cancelled():
        settled.exception()
