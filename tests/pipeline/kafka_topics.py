"""Topics for tests of Spark's Kafka connector: records in, and what a reader is to see."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic, TopicPartition

from tests.clients.speaker import TIMEOUT_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUIET = {"log_level": 0}


def new_topic(bootstrap: str, partitions: int = 1, replicas: int = 1, **config: str) -> str:
    name = f"spark-{uuid.uuid4().hex[:12]}"
    configs = {key.replace("_", "."): value for key, value in config.items()}
    topic = NewTopic(name, partitions, replicas, config=configs)
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([topic])[name].result(TIMEOUT_S)
    return name


def delete_before(bootstrap: str, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    place = TopicPartition(topic, partition, offset)
    for done in admin.delete_records([place]).values():
        done.result(TIMEOUT_S)


def send(bootstrap: str, topic: str, values: Iterable[str], **more: Any) -> None:
    """All of them acknowledged; `more` as of `Producer.produce`. Key and partition follow the
    value unless they are given."""
    producer = Producer({"bootstrap.servers": bootstrap, **QUIET})
    errors: list[Any] = []
    for value in values:
        producer.produce(
            topic,
            **{"key": value, "value": value, **more},
            on_delivery=lambda error, _: errors.append(error) if error is not None else None,
        )
    assert producer.flush(TIMEOUT_S) == 0
    assert errors == []


def options(bootstrap: str, topic: str, **more: str) -> Mapping[str, str]:
    return {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **more,
    }


def batch(spark: SparkSession, bootstrap: str, topic: str, **more: str) -> DataFrame:
    return spark.read.format("kafka").options(**options(bootstrap, topic, **more)).load()


def stream(spark: SparkSession, bootstrap: str, topic: str, **more: str) -> DataFrame:
    return spark.readStream.format("kafka").options(**options(bootstrap, topic, **more)).load()


def texts(frame: DataFrame) -> list[str]:
    """The values, in the order of partition and offset."""
    rows = frame.select("partition", "offset", "value").collect()
    return [bytes(row.value).decode() for row in sorted(rows)]
