"""A group member of kafka-python."""

from __future__ import annotations

from typing import Any

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

from tests.clients.members.leash import Leash

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
        # As a leader it may assign before it knows the topic, with Apache Kafka as well. It sees
        # that with its next metadata, which is five minutes later by default.
        metadata_max_age_ms=1000,
        partition_assignment_strategy=[ASSIGNORS[options["strategy"]]],
        **more,
    )
    consumer.subscribe([options["topic"]], listener=Listener(leash, consumer))
    while (command := leash.command()) is not None:
        if command:
            leash.obey(command, consumer.commit, KafkaError)
        for records in consumer.poll(timeout_ms=50).values():
            for record in records:
                leash.say("record", partition=record.partition, offset=record.offset)
    consumer.close()


main()
