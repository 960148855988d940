"""A group member of confluent-kafka (librdkafka)."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.clients.members.leash import Leash


def _settings(options: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
    """The broker decides for members of the new protocol what others set for themselves."""
    settings: dict[str, Any] = {
        "bootstrap.servers": options["bootstrap"],
        "client.id": options["client_id"],
        "group.id": options["group"],
        "max.poll.interval.ms": options["max_poll_ms"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    if is_new:
        settings["group.protocol"] = "consumer"
    else:
        settings["session.timeout.ms"] = options["session_ms"]
        settings["heartbeat.interval.ms"] = options["heartbeat_ms"]
        settings["partition.assignment.strategy"] = options["strategy"]
    if options.get("instance"):
        settings["group.instance.id"] = options["instance"]
    return settings


def main() -> None:
    leash = Leash()
    options = leash.options
    is_new = options.get("protocol") == "consumer"
    consumer = Consumer(_settings(options, is_new=is_new))
    is_cooperative = is_new or options["strategy"] == "cooperative-sticky"
    owned: set[tuple[str, int]] = set()

    def say() -> None:
        topics = sorted({topic for topic, _ in owned})
        leash.say("assigned", partitions=sorted(number for _, number in owned), topics=topics)

    def assigned(_: Any, partitions: list[TopicPartition]) -> None:
        owned.update((each.topic, each.partition) for each in partitions)
        if is_cooperative:
            consumer.incremental_assign(partitions)
        else:
            consumer.assign(partitions)
        say()

    def revoked(_: Any, partitions: list[TopicPartition]) -> None:
        owned.difference_update((each.topic, each.partition) for each in partitions)
        say()

    if options.get("held"):
        leash.say("ready")
        leash.wait_for_command()
    # librdkafka takes what begins with ^ for an expression.
    topic = f"^{options['regex']}" if options.get("regex") else options["topic"]
    consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
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
