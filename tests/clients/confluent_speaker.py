"""confluent-kafka (librdkafka) as a speaker."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import Message as Delivered

from tests.clients.speaker import (
    CODECS,
    TIMEOUT_S,
    Acks,
    Codec,
    Headers,
    Message,
    Start,
    Stored,
)


class ConfluentSpeaker:
    name = "confluent-kafka"
    codecs = CODECS
    sets_timestamps = True

    def __init__(self, bootstrap: str) -> None:
        self._common: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap,
            "message.max.bytes": 20_000_000,
        }

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
        producer = Producer(
            {
                **self._common,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": idempotent,
                "linger.ms": 5,
            }
        )
        errors: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _: Delivered) -> None:
            if error is not None:
                errors.append(error)

        for message in messages:
            producer.produce(
                topic,
                value=message.value,
                key=message.key,
                partition=partition,
                headers=list(message.headers),
                timestamp=message.timestamp_ms or 0,
                on_delivery=on_delivery,
            )
        assert producer.flush(TIMEOUT_S) == 0, "not everything was delivered in time"
        assert not errors, str(errors)

    def read(
        self,
        topic: str,
        partition: int,
        count: int,
        *,
        start: Start = "beginning",
        once_positioned: Callable[[], None] | None = None,
    ) -> list[Stored]:
        consumer = self._consumer()
        try:
            named = {"beginning": OFFSET_BEGINNING, "end": OFFSET_END}
            offset = named[start] if isinstance(start, str) else start
            consumer.assign([TopicPartition(topic, partition, offset)])
            return self._collect(consumer, count, once_positioned)
        finally:
            consumer.close()

    def _collect(
        self, consumer: Consumer, count: int, once_positioned: Callable[[], None] | None
    ) -> list[Stored]:
        found: list[Stored] = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"only {len(found)} of {count} records came"
            delivered = consumer.poll(1.0)
            if delivered is None:
                continue
            error = delivered.error()
            if error is None:
                found.append(_stored(delivered))
            elif error.code() == KafkaError._PARTITION_EOF:
                # The end is where librdkafka says for the first time that it is positioned.
                if once_positioned is not None:
                    once_positioned()
                    once_positioned = None
            else:
                raise KafkaException(error)
        return found

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        consumer = self._consumer()
        try:
            asked = [TopicPartition(topic, partition, timestamp_ms)]
            found = consumer.offsets_for_times(asked, timeout=TIMEOUT_S)[0]
            assert found.error is None
            return None if found.offset == OFFSET_END else int(found.offset)
        finally:
            consumer.close()

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        consumer = self._consumer()
        try:
            low, high = consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=TIMEOUT_S
            )
            return low, high
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                **self._common,
                "group.id": "unused",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.message.max.bytes": 20_000_000,
                "receive.message.max.bytes": 60_000_000,
            }
        )

    def close(self) -> None:
        pass


def _stored(delivered: Delivered) -> Stored:
    offset, (_, timestamp_ms) = delivered.offset(), delivered.timestamp()
    assert offset is not None
    # The stubs allow more forms than librdkafka ever delivers: always pairs of text and bytes.
    headers = cast("Headers", tuple(delivered.headers() or ()))
    message = Message(delivered.value(), delivered.key(), headers, timestamp_ms)
    return Stored(offset, timestamp_ms, message)
