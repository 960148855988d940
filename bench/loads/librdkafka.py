"""Loads carried by librdkafka, through confluent-kafka: what users run."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Delivered

from bench.loads.messages import VALUE_BYTES, values
from bench.loads.worker import Carried, Options

CHUNK = 500


def _producer(options: Options) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": options["bootstrap"],
            "queue.buffering.max.kbytes": 65_536,
            "queue.buffering.max.messages": 100_000,
            **options.get("client", {}),
        }
    )
    # The first message would otherwise wait for the metadata of the topic.
    producer.list_topics(options["topic"], timeout=10)
    return producer


def produce(options: Options) -> Callable[[], Carried]:
    """As much as goes in `seconds`, and everything delivered before the clock stops."""
    producer = _producer(options)
    topic, partitions = options["topic"], options["partitions"]
    pool = values(4 * CHUNK)
    chunks = [
        [{"value": value} for value in pool[start : start + CHUNK]]
        for start in range(0, len(pool), CHUNK)
    ]

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        sent = turn = 0
        while time.perf_counter() < end:
            queued = producer.produce_batch(
                topic, chunks[turn % len(chunks)], partition=turn % partitions
            )
            sent += queued
            turn += 1
            # A full queue is the sign to let librdkafka's own threads have the core.
            producer.poll(0 if queued == CHUNK else 0.002)
        left = producer.flush(60)
        if left:
            raise RuntimeError(f"{left} messages were not delivered")
        return Carried(sent, sent * VALUE_BYTES)

    return carry


def synchronous(options: Options) -> Callable[[], Carried]:
    """One message at a time: the next is sent when the last is acknowledged."""
    producer = _producer(options)
    pool = values(100)
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Delivered) -> None:
        if error is not None:
            failures.append(error)

    def once(number: int) -> float:
        before = time.perf_counter()
        value = pool[number % len(pool)]
        producer.produce(options["topic"], value, partition=0, on_delivery=delivered)
        while producer.poll(1) == 0:
            pass
        return (time.perf_counter() - before) * 1e6

    for number in range(50):
        once(number)

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        found = Carried()
        while time.perf_counter() < end:
            found.latencies_us.append(once(found.messages))
            found.messages += 1
        if failures:
            raise KafkaException(failures[0])
        found.bytes = found.messages * VALUE_BYTES
        return found

    return carry


def paced(options: Options) -> Callable[[], Carried]:
    """A steady stream below saturation, to see what each message waits."""
    producer = _producer(options)
    pool = values(100)
    found = Carried()

    def delivered(error: KafkaError | None, message: Delivered) -> None:
        if error is not None:
            raise KafkaException(error)
        latency_s = message.latency()
        assert latency_s is not None
        found.latencies_us.append(latency_s * 1e6)

    def carry() -> Carried:
        gap_s = 1 / options["rate"]
        start = time.perf_counter()
        due = start
        while due < start + options["seconds"]:
            # Not a poll with a timeout: it waits whole milliseconds or burns the core.
            time.sleep(max(0.0, due - time.perf_counter()))
            producer.poll(0)
            while due <= time.perf_counter():
                partition = found.messages % options["partitions"]
                value = pool[found.messages % len(pool)]
                producer.produce(
                    options["topic"], value, partition=partition, on_delivery=delivered
                )
                found.messages += 1
                due += gap_s
        producer.flush(30)
        found.bytes = found.messages * VALUE_BYTES
        return found

    return carry


def consume(options: Options) -> Callable[[], Carried]:
    """Reads the topic round and round for `seconds`."""
    consumer = Consumer(
        {
            "bootstrap.servers": options["bootstrap"],
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            # The queue stays the client's own: in a longer one the messages wait until no cache
            # holds them, and the quicker server looks the slower.
            # By default a full queue stops the reader for a whole second.
            "fetch.queue.backoff.ms": 2,
            # A partition that is read again from its start would wait for the fetch that waits
            # at the ends of the others.
            "fetch.wait.max.ms": 2,
            **options.get("client", {}),
        }
    )
    topic = options["topic"]
    consumer.assign([TopicPartition(topic, index, 0) for index in range(options["partitions"])])
    # The first answer shows that everything is connected.
    while not consumer.consume(1, timeout=10):
        pass

    def carry() -> Carried:
        end = time.perf_counter() + options["seconds"]
        found = Carried()
        while time.perf_counter() < end:
            for message in consumer.consume(2000, timeout=0.05):
                error = message.error()
                if error is None:
                    found.messages += 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    partition = message.partition()
                    assert partition is not None
                    consumer.seek(TopicPartition(topic, partition, 0))
                else:
                    raise KafkaException(error)
        found.bytes = found.messages * VALUE_BYTES
        return found

    return carry
