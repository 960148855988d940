"""A group member of kafka-python."""

from __future__ import annotations

import time
from typing import Any

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

from tests.clients.members.leash import Leash
from tests.clients.speaker import TIMEOUT_S

ASSIGNORS: dict[str, Any] = {
    "range": RangePartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, leash: Leash, consumer: kafka.KafkaConsumer) -> None:
        self._leash = leash
        self._consumer = consumer
        self._owned: set[int] = set()

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._owned |= {each.partition for each in assigned}
        self._say()

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._owned -= {each.partition for each in revoked}
        self._say()

    def on_partitions_lost(self, lost: Any) -> None:
        self.on_partitions_revoked(lost)

    def _say(self) -> None:
        self._leash.say("assigned", partitions=sorted(self._owned))


def _learn_of(consumer: kafka.KafkaConsumer, topic: str) -> None:
    """Waits until it knows the topic, after it subscribed and before it joins.

    A leader remembers what it knew of the topics when it assigned, and joins again when it learns
    more. Without this it always does, within `metadata_max_age_ms`, with Apache Kafka as well: a
    second rebalance that comes while a test looks at the result of the first.
    """
    until = time.monotonic() + TIMEOUT_S
    while not consumer.partitions_for_topic(topic):
        if time.monotonic() > until:
            raise TimeoutError(f"kafka-python does not find the topic {topic}")


def main() -> None:
    leash = Leash()
    options = leash.options
    more = {"group_instance_id": options["instance"]} if options.get("instance") else {}
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=options["bootstrap"],
        client_id=options["client_id"],
        group_id=options["group"],
        session_timeout_ms=options["session_ms"],
        heartbeat_interval_ms=options["heartbeat_ms"],
        max_poll_interval_ms=options["max_poll_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        # A topic that changes is seen with the next metadata, five minutes later by default.
        metadata_max_age_ms=1000,
        partition_assignment_strategy=[ASSIGNORS[options["strategy"]]],
        **more,
    )
    consumer.subscribe([options["topic"]], listener=Listener(leash, consumer))
    _learn_of(consumer, options["topic"])
    while (command := leash.command()) is not None:
        if command:
            leash.obey(command, consumer.commit, KafkaError)
        for records in consumer.poll(timeout_ms=50).values():
            for record in records:
                leash.say("record", partition=record.partition, offset=record.offset)
    consumer.close()


main()
