"""What the tests here do with confluent-kafka, off the loop's thread because it blocks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.cluster import Cluster, Node
from harness.cluster.waiting import wait_until

PATIENCE_S = 30.0
ANY_PARTITION = -1
NOT_YET = (
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
)
Position = tuple[int, int]  # partition and offset


def position(message: Message) -> Position:
    index, offset = message.partition(), message.offset()
    assert index is not None
    assert offset is not None
    return index, offset


async def create_topic(
    cluster: Cluster,
    name: str,
    *,
    partitions: int,
    replicas: int = -1,
    assignment: Sequence[Sequence[int]] = (),
    config: Mapping[str, str] | None = None,
    within_s: float = PATIENCE_S,
) -> None:
    """`assignment` names the replicas of each partition by their node ids.

    Every node that runs knows the topic in the end: the one that made it is only the first.
    """

    def create() -> None:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 0})
        chosen = {"replica_assignment": [list(each) for each in assignment]} if assignment else {}
        topic = NewTopic(name, partitions, replicas, config=dict(config or {}), **chosen)
        admin.create_topics([topic], request_timeout=within_s)[name].result(within_s + 5)

    await asyncio.to_thread(create)
    for node in cluster.nodes:
        if await _serves(cluster, node):
            await wait_until(
                partial(_knows, cluster, node, name), within_s=within_s, what=f"{node} knows {name}"
            )


async def _serves(cluster: Cluster, node: Node) -> bool:
    assert cluster.process is not None
    return await cluster.process.is_running(node) and not await cluster.process.is_paused(node)


async def _knows(cluster: Cluster, node: Node, topic: str) -> bool:
    return bool(await cluster.partitions(topic, node))


async def produce(
    cluster: Cluster,
    topic: str,
    values: Sequence[bytes],
    *,
    partition: int = ANY_PARTITION,
    timeout_s: float = PATIENCE_S,
    acks: str = "all",
    retries: int = 1_000_000,
    may_fail: bool = False,
) -> dict[bytes, Position]:
    """Where each value was stored.

    Raises what the client was told of the first that was not; with `may_fail` it is left out.
    """

    def send() -> dict[bytes, Position]:
        stored: dict[bytes, Position] = {}
        errors: list[Exception] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                stored[message.value() or b""] = position(message)
            else:
                errors.append(KafkaException(error))

        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap(),
                "acks": acks,
                "message.send.max.retries": retries,
                "message.timeout.ms": int(timeout_s * 1000),
                "log_level": 0,
            }
        )
        for value in values:
            producer.produce(topic, value, partition=partition, on_delivery=delivered)
        assert producer.flush(timeout_s + 5) == 0
        if errors and not may_fail:
            raise errors[0]
        return stored

    return await asyncio.to_thread(send)


def end_offset(consumer: Consumer, where: TopicPartition) -> int:
    """Asks again while a new leader does not know it yet."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            _, end = consumer.get_watermark_offsets(where, timeout=PATIENCE_S)
        except KafkaException as error:
            if error.args[0].code() not in NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return end


async def read_all(
    cluster: Cluster, topic: str, *nodes: Node, partitions: Sequence[int] | None = None
) -> dict[bytes, Position]:
    """As `read_log`, by value; none may be there twice."""
    found = await read_log(cluster, topic, *nodes, partitions=partitions)
    by_value = {value: where for where, value in found}
    assert len(by_value) == len(found)
    return by_value


async def read_log(
    cluster: Cluster, topic: str, *nodes: Node, partitions: Sequence[int] | None = None
) -> list[tuple[Position, bytes]]:
    """Everything up to the high watermarks of now, from the beginning, without a group.

    Of each partition in the order of its log.
    """

    def read() -> list[tuple[Position, bytes]]:
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap(*nodes),
                "group.id": "unused",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        try:
            metadata = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic]
            ends = {
                index: end_offset(consumer, TopicPartition(topic, index))
                for index in (metadata.partitions if partitions is None else partitions)
            }
            consumer.assign([TopicPartition(topic, index, 0) for index in ends])
            found: list[tuple[Position, bytes]] = []
            while len(found) < sum(ends.values()):
                message = consumer.poll(PATIENCE_S)
                assert message is not None, f"only {len(found)} of {sum(ends.values())} came"
                if message.error() is not None:
                    raise KafkaException(message.error())
                found.append((position(message), message.value() or b""))
            return found
        finally:
            consumer.close()

    return await asyncio.to_thread(read)
