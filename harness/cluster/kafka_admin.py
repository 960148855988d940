"""Has a running cluster change something, as any Kafka client can: by its addresses alone.

Blocking, since librdkafka is: a place asks these in a thread. Each call gets a client of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.cluster.base import NewTopic
from harness.cluster.errors import NoAnswerError, RefusedConfigError, RefusedError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

PATIENCE_S = 15.0


def create_topic(bootstrap: str, topic: NewTopic) -> None:
    """One that is there already is left alone."""
    from confluent_kafka import KafkaError
    from confluent_kafka.cimpl import NewTopic as Wanted

    wanted = Wanted(
        topic.name, topic.partitions, topic.replication_factor, config=dict(topic.configs)
    )
    admin = _admin(bootstrap)
    created = admin.create_topics([wanted], request_timeout=PATIENCE_S)
    _wait(created[topic.name], topic.name, content=(KafkaError.TOPIC_ALREADY_EXISTS,))


def delete_topics(bootstrap: str, topics: Sequence[str]) -> None:
    """One that is gone already is no failure."""
    from confluent_kafka import KafkaError

    admin = _admin(bootstrap)
    deleted = admin.delete_topics(list(topics), request_timeout=PATIENCE_S)
    for topic in topics:
        _wait(deleted[topic], topic, content=(KafkaError.UNKNOWN_TOPIC_OR_PART,))


def alter_topic(bootstrap: str, topic: str, configs: Mapping[str, str | None]) -> None:
    from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
    from confluent_kafka.admin._resource import ResourceType

    edits = [
        ConfigEntry(
            name,
            value,
            incremental_operation=AlterConfigOpType.DELETE
            if value is None
            else AlterConfigOpType.SET,
        )
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=edits)
    admin = _admin(bootstrap)
    altered = admin.incremental_alter_configs([resource], request_timeout=PATIENCE_S)
    _wait(altered[resource], topic)


def log_starts(bootstrap: str, topic: str) -> dict[int, int]:
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin._listoffsets import OffsetSpec

    admin = _admin(bootstrap)
    try:
        described = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic]
    except KafkaException as problem:
        raise _failure(problem, topic) from None
    if described.error is not None:
        raise NoAnswerError(f"{topic}: {described.error.str()}")
    earliest = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, index): earliest for index in described.partitions}
    found = admin.list_offsets(asked, request_timeout=PATIENCE_S)
    return {each.partition: _wait(future, topic).offset for each, future in found.items()}


def delete_records(bootstrap: str, topic: str, before: Mapping[int, int]) -> None:
    from confluent_kafka import TopicPartition

    asked = [TopicPartition(topic, index, offset) for index, offset in before.items()]
    admin = _admin(bootstrap)
    for future in admin.delete_records(asked, request_timeout=PATIENCE_S).values():
        _wait(future, topic)


def _admin(bootstrap: str) -> AdminClient:
    """To be held until it has answered: its answers go when it does."""
    from confluent_kafka.admin import AdminClient

    return AdminClient(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 200,
        }
    )


def _wait(future: Future[Any], what: str, content: tuple[int, ...] = ()) -> Any:
    """`content` are errors that say as much as that it is done."""
    from confluent_kafka import KafkaException

    try:
        return future.result(PATIENCE_S + 5)
    except TimeoutError:
        raise NoAnswerError(f"{what}: no answer within {PATIENCE_S:g} s") from None
    except KafkaException as problem:
        if problem.args[0].code() in content:
            return None
        raise _failure(problem, what) from None


def _failure(problem: KafkaException, what: str) -> NoAnswerError | RefusedError:
    """The client's own errors have negative numbers: it heard nothing, or nothing in time."""
    from confluent_kafka import KafkaError

    error = problem.args[0]
    if error.code() < 0 or error.retriable():
        return NoAnswerError(f"{what}: {error.str()}")
    is_config = error.code() == KafkaError.INVALID_CONFIG
    refused = RefusedConfigError if is_config else RefusedError
    return refused(f"{what}: {error.name()}: {error.str()}")
