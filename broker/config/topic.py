"""A topic's configuration, typed, with the broker's properties as its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker.config.broker import BrokerConfig
from broker.config.definitions.topic import SYNONYMS, TOPIC_PROPERTIES
from broker.config.property import LONG_MAX, Meaning, Value
from broker.config.suggest import nearest
from broker.config.values import WrongValueError, parse_value
from broker.protocol.errors import ErrorCode, KafkaError

# Fields whose names say less than Kafka's: the rest is Kafka's name with underscores.
_FIELD_NAMES = {
    "message.timestamp.before.max.ms": "timestamp_before_max_ms",
    "message.timestamp.after.max.ms": "timestamp_after_max_ms",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """What a log obeys. The defaults are those of an untouched broker."""

    cleanup_delete: bool = True
    cleanup_compact: bool = False
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86400000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = 1048588
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    producer_id_expiration_ms: int = 86400000
    record_validation_enable: bool = True
    retention_bytes: int = -1
    retention_ms: int = 604800000
    segment_bytes: int = 2**30
    segment_index_bytes: int = 10485760
    segment_jitter_ms: int = 0
    segment_ms: int = 604800000
    timestamp_after_max_ms: int = 3600000
    timestamp_before_max_ms: int = LONG_MAX
    unclean_leader_election_enable: bool = False

    @classmethod
    def build(cls, broker: BrokerConfig, overrides: Mapping[str, str]) -> LogConfig:
        """Raises KafkaError(INVALID_CONFIG), naming the first override that is wrong."""
        return cls(
            **_typed({name: broker_value(broker, name) for name in SYNONYMS}),
            producer_id_expiration_ms=broker.producer_id_expiration_ms,
            record_validation_enable=broker.log_record_validation_enable,
        ).with_overrides(overrides)

    def with_overrides(self, overrides: Mapping[str, str]) -> LogConfig:
        return replace(self, **_typed(_parsed(overrides)))


def check_overrides(overrides: Mapping[str, str]) -> None:
    """Raises KafkaError(INVALID_CONFIG) for a name that is no topic's, or a wrong value."""
    if _parsed(overrides).get("remote.storage.enable"):
        # A topic that counts on tiered storage would lose what it believes to be stored there.
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, "remote.storage.enable: records are stored in log.dirs only"
        )


def broker_value(broker: BrokerConfig, name: str) -> Value:
    """What the broker's properties make of a topic configuration."""
    synonyms = SYNONYMS[name]
    for synonym in synonyms:
        if synonym.name in broker.given:
            return synonym.convert(broker.values[synonym.name])
    return synonyms[-1].convert(broker.values[synonyms[-1].name])


def _parsed(overrides: Mapping[str, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, text in overrides.items():
        known = TOPIC_PROPERTIES.get(name)
        if known is None:
            hint = nearest(name, TOPIC_PROPERTIES)
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"unknown topic config name: {name}{hint}")
        try:
            values[name] = parse_value(known, text)
        except WrongValueError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name}: {error}") from None
    least, most = values.get("min.compaction.lag.ms"), values.get("max.compaction.lag.ms")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"min.compaction.lag.ms of {least} is above max.compaction.lag.ms of {most}",
        )
    return values


def _typed(values: Mapping[str, Value]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name == "cleanup.policy":
            assert isinstance(value, tuple)
            fields["cleanup_delete"] = "delete" in value
            fields["cleanup_compact"] = "compact" in value
        elif TOPIC_PROPERTIES[name].meaning is Meaning.USED:
            fields[_FIELD_NAMES.get(name, name.replace(".", "_"))] = value
    return fields
