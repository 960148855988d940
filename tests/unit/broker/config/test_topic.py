"""A topic's configuration: the broker's defaults, its own overrides, and what is refused."""

from dataclasses import fields
from pathlib import Path

import pytest

from broker.config.broker import BrokerConfig
from broker.config.definitions.topic import SYNONYMS, TOPIC_PROPERTIES
from broker.config.topic import LogConfig, check_overrides
from broker.protocol.errors import ErrorCode, KafkaError


def broker(**given: str) -> BrokerConfig:
    return BrokerConfig.of(
        {"node.id": "1", **{name.replace("_", "."): value for name, value in given.items()}}
    )


def test_the_defaults_in_the_class_are_those_of_the_tables() -> None:
    assert LogConfig() == LogConfig.build(broker(), {})


def test_an_override_wins_over_the_broker() -> None:
    built = LogConfig.build(
        broker(log_segment_bytes="1000", log_cleanup_policy="delete"),
        {"segment.bytes": "500", "cleanup.policy": "compact,delete"},
    )
    assert (built.segment_bytes, built.cleanup_compact, built.cleanup_delete) == (500, True, True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 168 * 3600000),
        ({"log_retention_hours": "2"}, 2 * 3600000),
        ({"log_retention_hours": "2", "log_retention_minutes": "3"}, 3 * 60000),
        (
            {"log_retention_hours": "2", "log_retention_minutes": "3", "log_retention_ms": "4"},
            4,
        ),
        ({"log_retention_hours": "-1"}, -1),
    ],
)
def test_the_finest_unit_of_retention_that_is_given_decides(
    given: dict[str, str], expected: int
) -> None:
    assert LogConfig.build(broker(**given), {}).retention_ms == expected


def test_flushing_falls_back_to_the_schedulers_interval() -> None:
    assert LogConfig.build(broker(log_flush_scheduler_interval_ms="9"), {}).flush_ms == 9
    both = broker(log_flush_scheduler_interval_ms="9", log_flush_interval_ms="8")
    assert LogConfig.build(both, {}).flush_ms == 8


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"retention.mss": "1"}, "did you mean retention.ms"),
        ({"retention.ms": "soon"}, "retention.ms: 'soon' is not"),
        ({"cleanup.policy": "shred"}, "one of compact, delete"),
        ({"compression.type": "rar"}, "compression.type"),
        ({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}, "min.compaction.lag.ms"),
        ({"remote.storage.enable": "true"}, "log.dirs only"),
        ({"leader.replication.throttled.replicas": "0:1,x"}, "pairs of partition:broker"),
    ],
)
def test_a_wrong_override_is_an_invalid_config(overrides: dict[str, str], expected: str) -> None:
    with pytest.raises(KafkaError, match=expected) as refused:
        check_overrides(overrides)
    assert refused.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("replicas", ["", "*", "0:1", "0:1, 12:3"])
def test_throttled_replicas_are_pairs_or_all(replicas: str) -> None:
    check_overrides({"follower.replication.throttled.replicas": replicas})


def test_what_means_nothing_here_is_accepted_and_changes_nothing() -> None:
    assert LogConfig.build(broker(), {"remote.storage.enable": "false"}) == LogConfig()


def test_every_field_is_read_by_somebody() -> None:
    broker = Path(__file__).parents[4] / "broker"
    code = "".join(
        path.read_text() for path in broker.rglob("*.py") if path.parent != broker / "config"
    )
    names = [each.name for each in fields(LogConfig)]
    assert [name for name in names if f".{name}" not in code] == []


def test_every_topic_configuration_of_kafka_4_is_known() -> None:
    assert len(TOPIC_PROPERTIES) == len(SYNONYMS) + 7
    assert {"retention.ms", "segment.bytes", "local.retention.ms"} <= set(TOPIC_PROPERTIES)
