"""The admin client of kafka-python."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Iterator

import pytest

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import Message, Reader

with warnings.catch_warnings():
    # kafka-python reads its schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, TopicPartition
    from kafka.admin import ConfigResource, OffsetSpec

pytestmark = pytest.mark.clients


@pytest.fixture
def client(bootstrap: str) -> Iterator[KafkaAdminClient]:
    opened = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield opened
    opened.close()


def test_topics_are_created_grown_listed_and_deleted(client: KafkaAdminClient) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"
    client.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}})
    client.create_partitions({topic: 5})
    (described,) = client.describe_topics([topic])
    assert sorted(one["partition_index"] for one in described["partitions"]) == [0, 1, 2, 3, 4]
    client.delete_topics([topic])
    assert topic not in client.list_topics()


@pytest.mark.parametrize("incremental", [True, False])
def test_configs_are_described_and_altered(
    client: KafkaAdminClient, create_topic: CreateTopic, incremental: bool
) -> None:
    topic = create_topic()
    wanted = ConfigResource("TOPIC", topic, configs={"retention.ms": "7200000"})
    client.alter_configs([wanted], incremental=incremental)
    described = client.describe_configs([ConfigResource("TOPIC", topic)], config_filter="all")
    assert described["topic"][topic]["retention.ms"]["value"] == "7200000"


def test_the_cluster_and_its_log_directories_describe_themselves(
    client: KafkaAdminClient, create_topic: CreateTopic, witness: Reader, bootstrap: str
) -> None:
    cluster = client.describe_cluster()
    assert [f"{one['host']}:{one['port']}" for one in cluster["brokers"]] == [bootstrap]
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"x" * 1000)])
    (answer,) = client.describe_log_dirs([topic])
    (partition,) = [
        partition
        for directory in answer["log_dirs"]
        for one in directory["topics"]
        for partition in one["partitions"]
        if one["name"] == topic
    ]
    assert partition["partition_size"] > 1000


def test_records_are_deleted_and_offsets_listed_by_kind(
    client: KafkaAdminClient, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    now_ms = int(time.time() * 1000)
    for after_ms in (0, 10, 50, 20):
        witness.produce(topic, 0, [Message(b"x", timestamp_ms=now_ms + after_ms)])
    place = TopicPartition(topic, 0)
    client.delete_records({place: 1})
    for which, expected in (
        (OffsetSpec.EARLIEST, 1),
        (OffsetSpec.LATEST, 4),
        (OffsetSpec.MAX_TIMESTAMP, 2),
        (now_ms + 5, 1),
    ):
        assert client.list_partition_offsets({place: which})[place].offset == expected
