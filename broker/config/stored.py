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
