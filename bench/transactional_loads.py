"""The loads of `bench/transactions.py`: producers, a pair of readers, and copying workers."""

from __future__ import annotations

import json
import statistics
import struct
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.loads.transactor import make_producer
from bench.measure import LoadError
from bench.systems import ROOT, System
from bench.systems.server_process import pinned

PARTITIONS = 6
PATIENCE_S = 60.0
_MOMENT = struct.Struct(">d")


@dataclass(frozen=True)
class Transactions:
    """What one or more producers did together."""

    per_s: float
    records_per_s: float
    commit_p50_ms: float
    commit_p99_ms: float


@dataclass(frozen=True)
class Added:
    """Median seconds from a send to its arrival at a reader, by isolation level."""

    read_uncommitted_s: float
    read_committed_s: float


def producers(
    system: System, cpus: frozenset[int], *, count: int, records: int, seconds: float
) -> Transactions:
    """`count` producers, each with a process and a transactional id of its own."""
    with _topic(system) as topic:
        options = {"topic": topic, "partitions": PARTITIONS, "records": records}
        return _together(system, cpus, [options] * count, seconds)


def copying(
    system: System, cpus: frozenset[int], *, written: int, batch: int, seconds: float
) -> Transactions:
    """One worker copies from a topic that holds `written` records to another, `batch` at a time."""
    with _topic(system) as source, _topic(system) as target:
        _fill(system, source, written)
        options = {"topic": target, "partitions": PARTITIONS, "records": batch, "input": source}
        return _together(system, cpus, [options], seconds)


def _together(
    system: System, cpus: frozenset[int], each: Sequence[dict[str, Any]], seconds: float
) -> Transactions:
    workers = [
        subprocess.Popen(
            pinned([sys.executable, "-m", "bench.loads.transactor", json.dumps(options)], cpus),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for options in (
            {
                **one,
                "bootstrap": system.bootstrap,
                "transactional_id": uuid.uuid4().hex,
                "seconds": seconds,
            }
            for one in each
        )
    ]

    def give_up() -> None:
        for one in workers:
            one.kill()

    stuck = threading.Timer(2 * PATIENCE_S + seconds, give_up)
    stuck.start()
    try:
        if any(_line(one) != "ready" for one in workers):
            raise LoadError("a transactional producer did not get ready")
        for one in workers:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        taken = [json.loads(_line(one) or "null") for one in workers]
    finally:
        stuck.cancel()
        for one in workers:
            one.kill()
            one.wait()
    if any(one is None for one in taken):
        raise LoadError("a transactional producer failed under load")
    commits_ms = sorted(1e3 * commit_s for one in taken for commit_s in one["commits_s"])
    return Transactions(
        per_s=sum(len(one["commits_s"]) / one["seconds"] for one in taken),
        records_per_s=sum(one["records"] / one["seconds"] for one in taken),
        commit_p50_ms=statistics.median(commits_ms),
        commit_p99_ms=commits_ms[int(0.99 * (len(commits_ms) - 1))],
    )


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def added_by_read_committed(system: System, *, transactions: int, pause_s: float) -> Added:
    """Transactions of one record, committed at once; two readers wait for every record."""
    with _topic(system, partitions=1) as topic:
        readers = [
            _Reader(system, topic, level) for level in ("read_uncommitted", "read_committed")
        ]
        producer = make_producer(
            {"bootstrap": system.bootstrap, "transactional_id": uuid.uuid4().hex}
        )
        for _ in range(transactions):
            producer.begin_transaction()
            producer.produce(topic, _MOMENT.pack(time.monotonic()), partition=0)
            producer.commit_transaction(PATIENCE_S)
            time.sleep(pause_s)
        at_once, when_committed = (reader.median_s(transactions) for reader in readers)
    return Added(at_once, when_committed)


class _Reader:
    """Reads from the beginning in a thread and notes how old each record is when it arrives."""

    def __init__(self, system: System, topic: str, isolation_level: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": system.bootstrap,
                "group.id": "unused",
                "isolation.level": isolation_level,
                "fetch.wait.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._ages_s: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                value = message.value()
                assert isinstance(value, bytes)
                self._ages_s.append(time.monotonic() - _MOMENT.unpack(value)[0])

    def median_s(self, awaited: int) -> float:
        deadline = time.monotonic() + PATIENCE_S
        while len(self._ages_s) < awaited and time.monotonic() < deadline:
            time.sleep(0.01)
        self._ended.set()
        self._thread.join()
        self._consumer.close()
        if len(self._ages_s) != awaited:
            raise LoadError(f"a reader got {len(self._ages_s)} of {awaited} records")
        return statistics.median(self._ages_s)


@contextmanager
def _topic(system: System, partitions: int = PARTITIONS) -> Iterator[str]:
    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": system.bootstrap, "log_level": 0})
    replicas = system.replication_factor
    config = {"min.insync.replicas": "2"} if replicas > 2 else {}
    admin.create_topics([NewTopic(name, partitions, replicas, config=config)])[name].result(30)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


def _fill(system: System, topic: str, count: int) -> None:
    producer = Producer(
        {"bootstrap.servers": system.bootstrap, "acks": "all", "linger.ms": 20, "log_level": 0}
    )
    for number in range(count):
        while True:
            try:
                producer.produce(topic, b"x" * 100, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(PATIENCE_S):
        raise LoadError(f"{topic} could not be filled")
