"""The Java admin client, which speaks the newest version of everything."""

from __future__ import annotations

import time
import uuid

import pytest

from tests.clients.conftest import CreateTopic, Speakers
from tests.clients.java_speaker import JavaSpeaker
from tests.clients.json_lines import JsonLinesProcess
from tests.clients.speaker import Message, Reader

pytestmark = [pytest.mark.clients, pytest.mark.java]


@pytest.fixture
def java(speakers: Speakers) -> JsonLinesProcess:
    speaker = speakers.named("java")
    assert isinstance(speaker, JavaSpeaker)
    return speaker.process


def test_topics_are_created_grown_described_and_deleted(java: JsonLinesProcess) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"
    topic_id = java.ask("createTopic", topic=topic, partitions=2, configs={})
    assert len(topic_id) == 22
    java.ask("createPartitions", topic=topic, count=4)
    assert java.ask("partitions", topic=topic) == [[number, 1, 1] for number in range(4)]
    java.ask("deleteTopic", topic=topic)
    with pytest.raises(AssertionError, match="UnknownTopicOrPartition"):
        java.ask("partitions", topic=topic)


def test_configs_carry_their_source(java: JsonLinesProcess) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"
    configs = {"cleanup.policy": "compact"}
    java.ask("createTopic", topic=topic, partitions=1, configs=configs)
    java.ask("setConfig", topic=topic, name="retention.ms", value="7200000", how="SET")
    java.ask("setConfig", topic=topic, name="cleanup.policy", value="delete", how="APPEND")
    found = java.ask("config", topic=topic)
    assert found["retention.ms"] == ["7200000", "DYNAMIC_TOPIC_CONFIG"]
    assert found["cleanup.policy"] == ["compact,delete", "DYNAMIC_TOPIC_CONFIG"]
    assert found["segment.bytes"] == [str(1 << 30), "DEFAULT_CONFIG"]
    with pytest.raises(AssertionError, match="InvalidConfigurationException"):
        java.ask("setConfig", topic=topic, name="retention.ms", value="soon", how="SET")


def test_records_are_deleted_and_offsets_listed_by_kind(
    java: JsonLinesProcess, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    now_ms = int(time.time() * 1000)
    for after_ms in (0, 10, 50, 20):
        witness.produce(topic, 0, [Message(b"x", timestamp_ms=now_ms + after_ms)])
    assert java.ask("deleteRecords", topic=topic, partition=0, offset=1) == 1

    def listed(which: str) -> object:
        return java.ask("listOffsets", topic=topic, partition=0, which=which)

    assert listed("earliest") == [1, -1]
    assert listed("latest") == [4, -1]
    assert listed("max timestamp") == [2, now_ms + 50]
    assert listed(str(now_ms + 15)) == [2, now_ms + 50]


def test_the_cluster_and_its_log_directories_describe_themselves(
    java: JsonLinesProcess, create_topic: CreateTopic, witness: Reader
) -> None:
    cluster_id, controller, nodes = java.ask("cluster")
    assert cluster_id
    assert (controller, nodes) == (1, 1)
    topic = create_topic(partitions=2)
    witness.produce(topic, 1, [Message(b"x" * 1000)])
    sizes = java.ask("logDirs", topic=topic)
    assert sizes[f"{topic}-0"] == 0
    assert sizes[f"{topic}-1"] > 1000


def test_the_state_of_an_idempotent_producer_is_described(
    java: JsonLinesProcess, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"x") for _ in range(7)], idempotent=True)
    assert java.ask("producerStates", topic=topic, partition=0) == [[0, 6]]
