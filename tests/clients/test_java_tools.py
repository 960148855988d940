"""Kafka's own command-line tools, run from its jars as its shell scripts would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.apache_kafka import java_command
from tests.clients.conftest import CreateTopic, RunningBroker
from tests.clients.java_speaker import SHORT_LIVED
from tests.clients.speaker import Message, Reader, without_timestamp

pytestmark = [pytest.mark.clients, pytest.mark.java]

TOOL_TIMEOUT_S = 60.0
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
METADATA_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


def tool(main_class: str, arguments: Sequence[str], stdin: bytes = b"") -> str:
    done = subprocess.run(
        java_command(main_class, arguments, SHORT_LIVED),
        input=stdin,
        capture_output=True,
        timeout=TOOL_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


def test_console_producer_and_consumer_pass_lines_on(
    bootstrap: str, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    there = ["--bootstrap-server", bootstrap, "--topic", topic]
    tool(CONSOLE_PRODUCER, there, stdin=b"one\ntwo\nthree\n")
    expected = [Message(b"one"), Message(b"two"), Message(b"three")]
    assert without_timestamp(witness.read(topic, 0, 3)) == expected
    reading = [*there, "--partition", "0", "--offset", "earliest", "--max-messages", "3"]
    assert tool(CONSOLE_CONSUMER, reading).splitlines() == ["one", "two", "three"]


@pytest.mark.slow
def test_kafka_topics_creates_alters_describes_and_deletes(
    bootstrap: str, create_topic: CreateTopic
) -> None:
    topic = f"{create_topic()}-by-tool"
    there = ["--bootstrap-server", bootstrap, "--topic", topic]
    tool(TOPICS, [*there, "--create", "--partitions", "2", "--config", "retention.ms=7200000"])
    tool(TOPICS, [*there, "--alter", "--partitions", "3"])
    described = tool(TOPICS, [*there, "--describe"])
    assert "PartitionCount: 3" in described
    assert "retention.ms=7200000" in described
    assert len(re.findall(r"Leader: 1\s+Replicas: 1\s+Isr: 1", described)) == 3
    tool(TOPICS, [*there, "--delete"])
    assert topic not in tool(TOPICS, ["--bootstrap-server", bootstrap, "--list"]).splitlines()


@pytest.mark.slow
def test_kafka_configs_sets_shows_and_removes(bootstrap: str, create_topic: CreateTopic) -> None:
    there = ["--bootstrap-server", bootstrap, "--entity-type", "topics"]
    there += ["--entity-name", create_topic()]
    tool(CONFIGS, [*there, "--alter", "--add-config", "segment.bytes=2000000"])
    assert "segment.bytes=2000000" in tool(CONFIGS, [*there, "--describe"])
    tool(CONFIGS, [*there, "--alter", "--delete-config", "segment.bytes"])
    assert "segment.bytes=2000000" not in tool(CONFIGS, [*there, "--describe"])
    brokers = ["--bootstrap-server", bootstrap, "--entity-type", "brokers", "--entity-name", "1"]
    assert "log.segment.bytes=1073741824" in tool(CONFIGS, [*brokers, "--describe", "--all"])


@pytest.mark.slow
def test_offsets_are_shown_before_and_after_records_are_deleted(
    bootstrap: str, create_topic: CreateTopic, witness: Reader, tmp_path: Path
) -> None:
    topic = create_topic(partitions=2)
    witness.produce(topic, 1, [Message(b"x") for _ in range(9)])
    asking = ["--bootstrap-server", bootstrap, "--topic", topic, "--time"]
    assert tool(GET_OFFSETS, [*asking, "latest"]).split() == [f"{topic}:0:0", f"{topic}:1:9"]
    wish = {"version": 1, "partitions": [{"topic": topic, "partition": 1, "offset": 5}]}
    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps(wish))
    there = ["--bootstrap-server", bootstrap]
    deleted = tool(DELETE_RECORDS, [*there, "--offset-json-file", str(offsets)])
    assert "low_watermark: 5" in deleted
    assert tool(GET_OFFSETS, [*asking, "earliest"]).split() == [f"{topic}:0:0", f"{topic}:1:5"]


@pytest.mark.slow
def test_kafka_log_dirs_reports_sizes(
    bootstrap: str, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"x" * 1000)])
    asking = ["--bootstrap-server", bootstrap, "--describe", "--topic-list", topic]
    (line,) = [text for text in tool(LOG_DIRS, asking).splitlines() if text.startswith("{")]
    (broker,) = json.loads(line)["brokers"]
    (partition,) = [one for place in broker["logDirs"] for one in place["partitions"]]
    assert partition["partition"] == f"{topic}-0"
    assert partition["size"] > 1000


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_producer_performance_tool_runs_through(
    bootstrap: str, create_topic: CreateTopic, witness: Reader, codec: str
) -> None:
    topic = create_topic()
    arguments = ["--topic", topic, "--num-records", "20000", "--record-size", "512"]
    arguments += ["--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}"]
    arguments += [f"compression.type={codec}", "acks=all"]
    assert "20000 records sent" in tool(PRODUCER_PERFORMANCE, arguments)
    assert witness.bounds(topic, 0) == (0, 20000)


@pytest.mark.skipif(
    bool(os.environ.get("CLIENT_TEST_BOOTSTRAP")), reason="the files of that broker are not ours"
)
def test_kafka_dump_log_reads_our_segment_files(
    own_broker: RunningBroker, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"plain", key=b"k", headers=(("h", b"v"),))])
    witness.produce(topic, 0, [Message(b"packed " * 50) for _ in range(5)], codec="zstd")
    segment = own_broker.data / f"{topic}-0" / "00000000000000000000.log"
    dumped = tool(DUMP_LOG, ["--deep-iteration", "--print-data-log", "--files", str(segment)])
    assert "payload: plain" in dumped
    assert "compresscodec: zstd" in dumped
    assert "isvalid: false" not in dumped
    assert len(re.findall(r"\| offset: \d+", dumped)) == 6


@pytest.mark.slow
def test_kafka_configs_shows_and_changes_the_levels_of_loggers(bootstrap: str) -> None:
    there = ["--bootstrap-server", bootstrap, "--entity-type", "broker-loggers"]
    there += ["--entity-name", "1"]
    assert "broker.server.server=INFO" in tool(CONFIGS, [*there, "--describe"])
    tool(CONFIGS, [*there, "--alter", "--add-config", "broker.server.server=ERROR"])
    assert "broker.server.server=ERROR" in tool(CONFIGS, [*there, "--describe"])
    tool(CONFIGS, [*there, "--alter", "--delete-config", "broker.server.server"])
    assert "broker.server.server=INFO" in tool(CONFIGS, [*there, "--describe"])


@pytest.mark.slow
def test_kafka_features_shows_the_epoch_of_the_metadata(
    bootstrap: str, create_topic: CreateTopic
) -> None:
    def epoch() -> int:
        shown = tool(FEATURES, ["--bootstrap-server", bootstrap, "describe"])
        [found] = re.findall(r"Feature: metadata.version.*Epoch: (\d+)", shown)
        return int(found)

    before = epoch()
    create_topic()
    assert epoch() > before > 0


@pytest.mark.slow
def test_kafka_metadata_quorum_asks_a_controller(own_broker: RunningBroker | None) -> None:
    if own_broker is None:
        pytest.skip("the controllers of that broker are not known")
    there = ["--bootstrap-controller", own_broker.controller]
    status = tool(METADATA_QUORUM, [*there, "describe", "--status"])
    assert re.search(r"LeaderId:\s+1\n", status)
    assert re.search(r"HighWatermark:\s+\d+\n", status)


@pytest.mark.slow
def test_kafka_reassign_partitions_moves_a_replica_to_another_directory(tmp_path: Path) -> None:
    other = tmp_path / "other"
    broker = RunningBroker(tmp_path, more_data=other)
    try:
        there = ["--bootstrap-server", broker.bootstrap]
        tool(TOPICS, [*there, "--topic", "t", "--create", "--partitions", "2"])
        topic = ["--topic", "t"]
        tool(CONSOLE_PRODUCER, [*there, *topic], stdin=b"one\ntwo\nthree\n")
        [index] = [index for index in (0, 1) if (broker.data / f"t-{index}").exists()]
        wish = {"topic": "t", "partition": index, "replicas": [1], "log_dirs": [str(other)]}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [wish]}))
        reassigning = [*there, "--reassignment-json-file", str(plan)]
        tool(REASSIGN, [*reassigning, "--execute"])
        deadline = time.monotonic() + TOOL_TIMEOUT_S
        while (broker.data / f"t-{index}").exists() or not (other / f"t-{index}").exists():
            assert time.monotonic() < deadline, tool(LOG_DIRS, [*there, "--describe"])
            time.sleep(0.1)
        verified = tool(REASSIGN, [*reassigning, "--verify"])
        assert f"replica t-{index}-1 completed successfully" in verified, verified
        lines: list[str] = []
        for part in ("0", "1"):
            reading = [*there, *topic, "--partition", part, "--offset", "earliest"]
            lines += tool(CONSOLE_CONSUMER, [*reading, "--timeout-ms", "5000"]).splitlines()
        assert sorted(lines) == ["one", "three", "two"]
    finally:
        broker.stop()
