"""kafka-python as a speaker."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence

from tests.clients.speaker import (
    CODECS,
    TIMEOUT_S,
    Acks,
    Codec,
    Message,
    Start,
    Stored,
)

with warnings.catch_warnings():
    # kafka-python reads its schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition


class KafkaPythonSpeaker:
    name = "kafka-python"
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
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            compression_type=None if codec == "none" else codec,
            acks="all" if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            linger_ms=5,
            max_request_size=20_000_000,
        )
        try:
            pending = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    partition=partition,
                    headers=list(message.headers),
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            for future in pending:
                future.get(timeout=TIMEOUT_S)
        finally:
            producer.close(timeout=TIMEOUT_S)

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
        consumer = self._consumer()
        try:
            consumer.assign([place])
            if start == "beginning":
                consumer.seek_to_beginning(place)
            elif start == "end":
                consumer.seek_to_end(place)
            else:
                consumer.seek(place, start)
            consumer.position(place, timeout_ms=int(TIMEOUT_S * 1000))
            if once_positioned is not None:
                once_positioned()
            return _collect(consumer, count)
        finally:
            consumer.close()

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        place = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            found = consumer.offsets_for_times({place: timestamp_ms})[place]
            return None if found is None else int(found.offset)
        finally:
            consumer.close()

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        place = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            first = consumer.beginning_offsets([place])[place]
            return int(first), int(consumer.end_offsets([place])[place])
        finally:
            consumer.close()

    def _consumer(self) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=None,
            auto_offset_reset="none",
            max_partition_fetch_bytes=20_000_000,
        )

    def close(self) -> None:
        pass


def _collect(consumer: KafkaConsumer, count: int) -> list[Stored]:
    found: list[Stored] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {len(found)} of {count} records came"
        for records in consumer.poll(timeout_ms=1000, max_records=count - len(found)).values():
            for record in records:
                message = Message(
                    record.value,
                    record.key,
                    tuple((key, value) for key, value in record.headers),
                    record.timestamp,
                )
                found.append(Stored(record.offset, record.timestamp, message))
    return found
