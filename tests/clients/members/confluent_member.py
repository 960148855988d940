"""A group member of confluent-kafka (librdkafka)."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.clients.members.leash import Leash


def main() -> None:
    leash = Leash()
    options = leash.options
    settings: dict[str, Any] = {
        "bootstrap.servers": options["bootstrap"],
        "client.id": options["client_id"],
        "group.id": options["group"],
        "session.timeout.ms": options["session_ms"],
        "heartbeat.interval.ms": options["heartbeat_ms"],
        "max.poll.interval.ms": options["max_poll_ms"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": options["strategy"],
        "log_level": 0,
    }
    if options.get("instance"):
        settings["group.instance.id"] = options["instance"]
    consumer = Consumer(settings)
    is_cooperative = options["strategy"] == "cooperative-sticky"
    owned: set[int] = set()

    def assigned(_: Any, partitions: list[TopicPartition]) -> None:
        owned.update(each.partition for each in partitions)
        if is_cooperative:
            consumer.incremental_assign(partitions)
        else:
            consumer.assign(partitions)
        leash.say("assigned", partitions=sorted(owned))

    def revoked(_: Any, partitions: list[TopicPartition]) -> None:
        owned.difference_update(each.partition for each in partitions)
        leash.say("assigned", partitions=sorted(owned))

    consumer.subscribe([options["topic"]], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
    while (command := leash.command()) is not None:
        if command:
            leash.obey(command, lambda: consumer.commit(asynchronous=False), KafkaException)
        message = consumer.poll(0.05)
        if message is None:
            continue
        if message.error():
            leash.say("error", message=str(message.error()))
        else:
            leash.say("record", partition=message.partition(), offset=message.offset())
    consumer.close()


main()
