"""What the tests here do with aiokafka, a client that shares no code with librdkafka."""

from __future__ import annotations

from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from harness.cluster import Cluster
from tests.cluster.confluent import PATIENCE_S, Position


async def produce(
    cluster: Cluster, topic: str, values: Sequence[bytes], *, partition: int
) -> dict[bytes, Position]:
    """Idempotent, acks=all; where each value was stored."""
    producer = AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap(),
        acks="all",
        enable_idempotence=True,
        request_timeout_ms=5000,
        metadata_max_age_ms=1000,
    )
    await producer.start()
    try:
        stored = {}
        for value in values:
            told = await producer.send_and_wait(topic, value, partition=partition)
            stored[value] = told.partition, told.offset
        return stored
    finally:
        await producer.stop()


async def read_all(cluster: Cluster, topic: str, partitions: int) -> dict[bytes, Position]:
    """Everything up to the end offsets of now, from the beginning, without a group."""
    # Not by a seek: the reset that follows an assignment may come later and undo it.
    consumer = AIOKafkaConsumer(
        bootstrap_servers=cluster.bootstrap(),
        auto_offset_reset="earliest",
        metadata_max_age_ms=1000,
    )
    await consumer.start()
    try:
        wanted = [TopicPartition(topic, index) for index in range(partitions)]
        consumer.assign(wanted)
        ends = await consumer.end_offsets(wanted)
        found: dict[bytes, Position] = {}
        while len(found) < sum(ends.values()):
            batches = await consumer.getmany(timeout_ms=int(PATIENCE_S * 1000))
            assert batches, f"only {len(found)} of {sum(ends.values())} came"
            for records in batches.values():
                for record in records:
                    assert record.value not in found
                    found[record.value] = record.partition, record.offset
        return found
    finally:
        await consumer.stop()
