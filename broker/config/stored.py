"""Configurations as the metadata hold them: what is not valid is left out, and never a start."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from broker.config.broker import BrokerConfig
from broker.config.errors import ConfigError
from broker.config.topic import LogConfig
from broker.protocol.errors import KafkaError

_log = logging.getLogger(__name__)

_Config = TypeVar("_Config")
_TOPICS_KNOWN_MAX = 100_000


class LogConfigs:
    """Of topics: each is built once, for as long as all that it is made of stays the same.

    A decision about thousands of partitions asks as often.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[BrokerConfig, Mapping[str, str], LogConfig]] = {}

    def of(self, broker: BrokerConfig, topic: str, stored: Mapping[str, str]) -> LogConfig:
        known = self._known.get(topic)
        if known is not None and known[0] is broker and known[1] == stored:
            return known[2]
        if len(self._known) >= _TOPICS_KNOWN_MAX:
            self._known.clear()
        config = log_config(broker, topic, stored)
        self._known[topic] = broker, dict(stored), config
        return config


def log_config(broker: BrokerConfig, topic: str, stored: Mapping[str, str]) -> LogConfig:
    return _valid(lambda values: LogConfig.build(broker, values), stored, f"topic {topic}")


def broker_config(file: BrokerConfig, stored: Mapping[str, str]) -> BrokerConfig:
    return _valid(file.with_changes, stored, f"broker {file.node_id}")


def _valid(
    build: Callable[[Mapping[str, str]], _Config], stored: Mapping[str, str], whose: str
) -> _Config:
    """Everything was valid when it was stored, but perhaps to another version of the broker."""
    try:
        return build(stored)
    except (ConfigError, KafkaError):
        taken: dict[str, str] = {}
        config = build(taken)
        for name, value in sorted(stored.items()):
            try:
                config = build({**taken, name: value})
            except (ConfigError, KafkaError) as problem:
                _log.error("%s goes without its %s=%s: %s", whose, name, value, problem)
            else:
                taken[name] = value
        return config
