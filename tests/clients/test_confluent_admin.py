"""The admin client of confluent-kafka."""

from __future__ import annotations

import time
import uuid

import pytest
from confluent_kafka import KafkaException, TopicPartition

# The package exports these names without saying so to type checkers.
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import TIMEOUT_S, Message, Reader

pytestmark = pytest.mark.clients


def topic_config(admin: AdminClient, topic: str) -> dict[str, str | None]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    found = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    return {name: entry.value for name, entry in found.items()}


def alter(admin: AdminClient, topic: str, name: str, value: str, how: AlterConfigOpType) -> None:
    entry = ConfigEntry(name, value, incremental_operation=how)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def test_topics_are_created_grown_listed_and_deleted(admin: AdminClient) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(TIMEOUT_S)
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(TIMEOUT_S)
    described = admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
    assert sorted(described.partitions) == [0, 1, 2, 3, 4]
    assert {one.leader for one in described.partitions.values()} == {1}
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics


def test_a_topic_cannot_be_created_twice_or_with_a_bad_name(
    admin: AdminClient, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    for name, expected in ((topic, "TOPIC_ALREADY_EXISTS"), ("no/slash", "TOPIC_EXCEPTION")):
        with pytest.raises(KafkaException) as refused:
            admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
        assert refused.value.args[0].name() == expected


def test_partitions_are_never_taken_away(admin: AdminClient, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=3)
    with pytest.raises(KafkaException) as refused:
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(TIMEOUT_S)
    assert refused.value.args[0].name() == "INVALID_PARTITIONS"


def test_configs_are_set_and_reset_one_by_one(
    admin: AdminClient, create_topic: CreateTopic
) -> None:
    topic = create_topic(config={"retention.ms": "7200000"})
    default = topic_config(admin, topic)["segment.bytes"]
    alter(admin, topic, "segment.bytes", "2000000", AlterConfigOpType.SET)
    assert topic_config(admin, topic)["segment.bytes"] == "2000000"
    assert topic_config(admin, topic)["retention.ms"] == "7200000"
    alter(admin, topic, "segment.bytes", "", AlterConfigOpType.DELETE)
    assert topic_config(admin, topic)["segment.bytes"] == default


def test_a_wrong_config_is_refused(admin: AdminClient, create_topic: CreateTopic) -> None:
    topic = create_topic()
    for name, value in (("retention.ms", "soon"), ("no.such.config", "1")):
        with pytest.raises(KafkaException) as refused:
            alter(admin, topic, name, value, AlterConfigOpType.SET)
        assert refused.value.args[0].name() == "INVALID_CONFIG"


def test_the_configs_of_a_broker_are_described(admin: AdminClient) -> None:
    resource = ConfigResource(ResourceType.BROKER, "1")
    found = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert found["log.segment.bytes"].value == str(1 << 30)
    assert found["node.id"].value == "1"


def test_the_cluster_describes_itself(admin: AdminClient, bootstrap: str) -> None:
    cluster = admin.describe_cluster().result(TIMEOUT_S)
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [bootstrap]
    assert cluster.controller is not None
    assert cluster.controller.id == 1
    assert cluster.cluster_id


def test_records_are_deleted_before_an_offset(
    admin: AdminClient, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"x") for _ in range(10)])
    place = TopicPartition(topic, 0, 4)
    assert admin.delete_records([place])[place].result(TIMEOUT_S).low_watermark == 4
    assert witness.bounds(topic, 0) == (4, 10)
    assert witness.read(topic, 0, 1)[0].offset == 4


def test_offsets_are_listed_by_kind(
    admin: AdminClient, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    now_ms = int(time.time() * 1000)
    times_ms = [now_ms, now_ms + 50, now_ms + 20]
    for at_ms in times_ms:
        witness.produce(topic, 0, [Message(b"x", timestamp_ms=at_ms)])
    place = TopicPartition(topic, 0)
    for which, expected in (
        (OffsetSpec.earliest(), 0),  # type: ignore[no-untyped-call]
        (OffsetSpec.latest(), 3),  # type: ignore[no-untyped-call]
        (OffsetSpec.max_timestamp(), 1),  # type: ignore[no-untyped-call]
        (OffsetSpec.for_timestamp(now_ms + 1), 1),
    ):
        assert admin.list_offsets({place: which})[place].result(TIMEOUT_S).offset == expected
