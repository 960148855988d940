"""The admin client of kafkajs."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest

from tests.clients.conftest import CreateTopic, Speakers
from tests.clients.json_lines import JsonLinesProcess
from tests.clients.kafkajs_speaker import KafkajsSpeaker
from tests.clients.speaker import Message, Reader

pytestmark = pytest.mark.clients


@pytest.fixture
def kafkajs(speakers: Speakers) -> JsonLinesProcess:
    speaker = speakers.named("kafkajs")
    assert isinstance(speaker, KafkajsSpeaker)
    return speaker.process


def test_topics_are_created_grown_listed_and_deleted(kafkajs: JsonLinesProcess) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"
    kafkajs.ask("createTopic", topic=topic, partitions=2, configs=[])
    kafkajs.ask("createPartitions", topic=topic, count=5)
    assert topic in kafkajs.ask("listTopics")
    (described,) = kafkajs.ask("topicMetadata", topic=topic)["topics"]
    assert sorted(one["partitionId"] for one in described["partitions"]) == [0, 1, 2, 3, 4]
    kafkajs.ask("deleteTopic", topic=topic)
    assert topic not in kafkajs.ask("listTopics")


def test_configs_are_described_and_altered(kafkajs: JsonLinesProcess) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"
    configs = [{"name": "retention.ms", "value": "7200000"}]
    kafkajs.ask("createTopic", topic=topic, partitions=1, configs=configs)

    def retention() -> Any:
        answer = kafkajs.ask("describeConfigs", topic=topic, names=["retention.ms"])
        (entry,) = answer["resources"][0]["configEntries"]
        return entry["configValue"]

    assert retention() == "7200000"
    changed = [{"name": "retention.ms", "value": "3600000"}]
    kafkajs.ask("alterConfigs", topic=topic, configs=changed)
    assert retention() == "3600000"


def test_offsets_follow_what_was_written_and_deleted(
    kafkajs: JsonLinesProcess, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    now_ms = int(time.time() * 1000)
    messages = [Message(b"x", timestamp_ms=now_ms + number) for number in range(10)]
    witness.produce(topic, 0, messages)
    assert kafkajs.ask("topicOffsets", topic=topic) == [
        {"partition": 0, "offset": "10", "high": "10", "low": "0"}
    ]
    by_time = kafkajs.ask("offsetsByTime", topic=topic, timestamp=now_ms + 4)
    assert by_time == [{"partition": 0, "offset": "4"}]
    kafkajs.ask("deleteRecords", topic=topic, partition=0, offset=6)
    assert kafkajs.ask("topicOffsets", topic=topic)[0]["low"] == "6"


def test_the_cluster_describes_itself(kafkajs: JsonLinesProcess, bootstrap: str) -> None:
    cluster = kafkajs.ask("describeCluster")
    (broker,) = cluster["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
    assert cluster["controller"] == broker["nodeId"]
    assert cluster["clusterId"]
