"""Transactions on three real brokers, while the nodes that coordinate and lead are killed."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.cimpl import TopicPartition

from tests.cluster.clusters import SOON_S, running, until_isr_is
from tests.cluster.confluent import create_topic

pytestmark = [pytest.mark.clients, pytest.mark.slow]

NODES = ("n1", "n2", "n3")
PARTITIONS = 3
PROPERTIES = {
    "transaction.state.log.num.partitions": "3",
    "min.insync.replicas": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


class Writer:
    """One transaction after the other, each with a record for every partition; every third one
    is aborted. A producer that fails is replaced, and its transaction counts as unknown."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.committed: list[bytes] = []
        self.aborted: list[bytes] = []
        self.unknown: list[bytes] = []
        self.stop = threading.Event()
        self._bootstrap = bootstrap
        self._name = name

    def run(self) -> None:
        number = 0
        while not self.stop.is_set():
            producer = self._new_producer()
            while producer is not None and not self.stop.is_set():
                number += 1
                value = f"{self._name} {number}".encode()
                try:
                    self._transaction(producer, value, commit=number % 3 != 0)
                except KafkaException:
                    self.unknown.append(value)
                    break

    def _new_producer(self) -> Producer | None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": self._name,
                "transaction.timeout.ms": 10_000,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        try:
            producer.init_transactions(SOON_S)
        except KafkaException:
            return None
        return producer

    def _transaction(self, producer: Producer, value: bytes, *, commit: bool) -> None:
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce("t", value, partition=partition)
        if commit:
            producer.commit_transaction(SOON_S)
            self.committed.append(value)
        else:
            producer.flush(SOON_S)
            producer.abort_transaction(SOON_S)
            self.aborted.append(value)


def stable_values(bootstrap: str, partition: int) -> list[bytes]:
    """Everything that a reader of committed records gets, once no transaction is open."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    place = TopicPartition("t", partition, 0)
    try:
        _, end = consumer.get_watermark_offsets(place, timeout=SOON_S)
        consumer.assign([place])
        values: list[bytes] = []
        deadline = time.monotonic() + 2 * SOON_S
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is None:
                values.append(message.value() or b"")
            elif error.code() == KafkaError._PARTITION_EOF and (message.offset() or 0) >= end:
                return values
    finally:
        consumer.close()
    raise AssertionError(f"t-{partition} hangs before {end}: a transaction has no end")


@pytest.mark.timeout(240)
async def test_every_transaction_is_whole_although_nodes_are_killed(tmp_path: Path) -> None:
    async with running(tmp_path, 3, properties=PROPERTIES) as (cluster, processes):
        await create_topic(cluster, "t", partitions=PARTITIONS, replicas=3)
        bootstrap = cluster.bootstrap()
        writers = [Writer(bootstrap, f"w{number}") for number in range(6)]
        # Threads of their own: the loop's are few, and the cluster is watched with them.
        threads = [threading.Thread(target=each.run) for each in writers]
        for thread in threads:
            thread.start()
        try:
            for node in NODES:
                before = sum(len(each.committed) for each in writers)
                await _more(writers, before + 60)
                await processes.kill(node)
                await asyncio.sleep(1)
                await processes.start(node)
                await until_isr_is(cluster, "t", NODES)
            await _more(writers, sum(len(each.committed) for each in writers) + 60)
        finally:
            for each in writers:
                each.stop.set()
            for thread in threads:
                await asyncio.to_thread(thread.join)
        seen = [await asyncio.to_thread(stable_values, bootstrap, each) for each in range(3)]
    committed = {value for each in writers for value in each.committed}
    aborted = {value for each in writers for value in each.aborted}
    whole = set(seen[0])
    assert all(len(each) == len(set(each)) for each in seen), "a record is there twice"
    assert all(set(each) == whole for each in seen), "a transaction is torn"
    assert committed <= whole, f"lost: {sorted(committed - whole)}"
    assert not aborted & whole, f"aborted: {sorted(aborted & whole)}"


async def _more(writers: list[Writer], count: int) -> None:
    async with asyncio.timeout(2 * SOON_S):
        while sum(len(each.committed) for each in writers) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
