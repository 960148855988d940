"""One transactional producer as a process: `python -m bench.loads.transactor JSON`.

It prints `ready` once its first transactions are committed, waits for a line on its input, then
runs transactions for the given time and prints the seconds that each commit took. With `input` it
is a consume-transform-produce worker: each transaction copies what a poll returned, with its
offsets.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Producer

PATIENCE_S = 60.0
WARM_UP_TRANSACTIONS = 20
VALUE = b"x" * 100


class Transactor:
    """Commits transactions of `records` small records, spread over the partitions."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._topic: str = options["topic"]
        self._partitions: int = options["partitions"]
        self._records: int = options["records"]
        self._next = 0
        self.producer = make_producer(options)

    def transaction(self) -> tuple[int, float]:
        """Number of records, and the seconds that the commit took."""
        self.producer.begin_transaction()
        for _ in range(self._records):
            self.producer.produce(self._topic, VALUE, partition=self._next % self._partitions)
            self._next += 1
        return self._records, committed_s(self.producer)


class Copier:
    """Copies records from one topic to another, exactly once."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._topic: str = options["topic"]
        self._partitions: int = options["partitions"]
        self._records: int = options["records"]
        self.producer = make_producer(options)
        self._consumer = Consumer(
            {
                "bootstrap.servers": options["bootstrap"],
                "group.id": options["transactional_id"],
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        self._consumer.subscribe([options["input"]])

    def transaction(self) -> tuple[int, float]:
        messages = self._consumer.consume(self._records, timeout=PATIENCE_S)
        if not messages:
            raise SystemExit("the input ended before the time did; write more of it")
        self.producer.begin_transaction()
        for message in messages:
            partition = message.partition()
            assert partition is not None
            assert message.error() is None
            self.producer.produce(
                self._topic, message.value(), partition=partition % self._partitions
            )
        positions = self._consumer.position(self._consumer.assignment())
        self.producer.send_offsets_to_transaction(
            [one for one in positions if one.offset >= 0], self._consumer.consumer_group_metadata()
        )
        return len(messages), committed_s(self.producer)


def make_producer(options: dict[str, Any]) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": options["bootstrap"],
            "transactional.id": options["transactional_id"],
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions(PATIENCE_S)
    return producer


def committed_s(producer: Producer) -> float:
    begun = time.perf_counter()
    producer.commit_transaction(PATIENCE_S)
    return time.perf_counter() - begun


def run_for(seconds: float, transaction: Callable[[], tuple[int, float]]) -> dict[str, object]:
    commits_s: list[float] = []
    records, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        count, commit_s = transaction()
        records += count
        commits_s.append(commit_s)
    return {"seconds": time.perf_counter() - begun, "records": records, "commits_s": commits_s}


def main() -> None:
    options = json.loads(sys.argv[1])
    worker = Copier(options) if options.get("input") else Transactor(options)
    for _ in range(WARM_UP_TRANSACTIONS):
        worker.transaction()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(run_for(options["seconds"], worker.transaction)), flush=True)


if __name__ == "__main__":
    main()
