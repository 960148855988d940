"""aiokafka as a speaker; each call runs a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.clients.speaker import (
    CODECS,
    TIMEOUT_S,
    Acks,
    Codec,
    Message,
    Start,
    Stored,
)


class AiokafkaSpeaker:
    name = "aiokafka"
    codecs = CODECS
    sets_timestamps = True

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def produce(
        self,
        topic: str,
        partition: int,
        messages: Sequence[Message],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> None:
        async def send_all() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                compression_type=None if codec == "none" else codec,
                acks="all" if acks == "all" else int(acks),
                enable_idempotence=idempotent,
                linger_ms=5,
                max_request_size=20_000_000,
            )
            await producer.start()
            try:
                pending = [
                    await producer.send(
                        topic,
                        value=message.value,
                        key=message.key,
                        partition=partition,
                        headers=list(message.headers),
                        timestamp_ms=message.timestamp_ms,
                    )
                    for message in messages
                ]
                await asyncio.gather(*pending)
            finally:
                await producer.stop()

        asyncio.run(asyncio.wait_for(send_all(), TIMEOUT_S))

    def read(
        self,
        topic: str,
        partition: int,
        count: int,
        *,
        start: Start = "beginning",
        once_positioned: Callable[[], None] | None = None,
    ) -> list[Stored]:
        place = TopicPartition(topic, partition)

        async def collect() -> list[Stored]:
            consumer = self._consumer()
            await consumer.start()
            try:
                consumer.assign([place])
                if start == "beginning":
                    await consumer.seek_to_beginning(place)
                elif start == "end":
                    await consumer.seek_to_end(place)
                else:
                    consumer.seek(place, start)
                await consumer.position(place)
                if once_positioned is not None:
                    await asyncio.to_thread(once_positioned)
                return [_stored(await consumer.getone(place)) for _ in range(count)]
            finally:
                await consumer.stop()

        return asyncio.run(asyncio.wait_for(collect(), TIMEOUT_S))

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        place = TopicPartition(topic, partition)

        async def ask() -> int | None:
            consumer = self._consumer()
            await consumer.start()
            try:
                found = (await consumer.offsets_for_times({place: timestamp_ms}))[place]
                return None if found is None else int(found.offset)
            finally:
                await consumer.stop()

        return asyncio.run(asyncio.wait_for(ask(), TIMEOUT_S))

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        place = TopicPartition(topic, partition)

        async def ask() -> tuple[int, int]:
            consumer = self._consumer()
            await consumer.start()
            try:
                first = (await consumer.beginning_offsets([place]))[place]
                return int(first), int((await consumer.end_offsets([place]))[place])
            finally:
                await consumer.stop()

        return asyncio.run(asyncio.wait_for(ask(), TIMEOUT_S))

    def _consumer(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=None,
            auto_offset_reset="none",
            max_partition_fetch_bytes=20_000_000,
        )

    def close(self) -> None:
        pass


def _stored(record: object) -> Stored:
    # aiokafka's record class is generic over what deserialisers make; here it is always bytes.
    offset, timestamp_ms = record.offset, record.timestamp  # type: ignore[attr-defined]
    headers = tuple((key, value) for key, value in record.headers)  # type: ignore[attr-defined]
    message = Message(record.value, record.key, headers, timestamp_ms)  # type: ignore[attr-defined]
    return Stored(offset, timestamp_ms, message)
