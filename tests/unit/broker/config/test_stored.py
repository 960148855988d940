"""What the metadata hold of configurations: built once, and anew when anything has changed."""

from __future__ import annotations

from broker.config.broker import BrokerConfig
from broker.config.stored import LogConfigs

BROKER = BrokerConfig.of({"node.id": "1", "log.dirs": "data"})
OTHER = BrokerConfig.of({"node.id": "1", "log.dirs": "data", "min.insync.replicas": "2"})


def test_a_configuration_is_built_once_while_nothing_changes() -> None:
    configs = LogConfigs()
    first = configs.of(BROKER, "t", {"retention.ms": "1000"})
    assert first.retention_ms == 1000
    assert configs.of(BROKER, "t", {"retention.ms": "1000"}) is first


def test_a_change_of_the_topic_or_of_the_broker_is_seen_at_once() -> None:
    configs = LogConfigs()
    configs.of(BROKER, "t", {"retention.ms": "1000"})
    assert configs.of(BROKER, "t", {"retention.ms": "2000"}).retention_ms == 2000
    assert configs.of(BROKER, "t", {}).retention_ms == 604800000
    assert configs.of(BROKER, "t", {}).min_insync_replicas == 1
    assert configs.of(OTHER, "t", {}).min_insync_replicas == 2


def test_a_mapping_that_is_changed_in_place_is_another_one() -> None:
    configs, stored = LogConfigs(), {"retention.ms": "1000"}
    configs.of(BROKER, "t", stored)
    stored["retention.ms"] = "3000"
    assert configs.of(BROKER, "t", stored).retention_ms == 3000


def test_topics_are_kept_apart() -> None:
    configs = LogConfigs()
    assert configs.of(BROKER, "a", {"retention.ms": "1"}).retention_ms == 1
    assert configs.of(BROKER, "b", {"retention.ms": "2"}).retention_ms == 2
    assert configs.of(BROKER, "a", {"retention.ms": "1"}).retention_ms == 1
