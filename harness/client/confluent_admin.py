"""What confluent-kafka's AdminClient is asked for. Each request is sent once: it does not retry."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from confluent_kafka import (
    IsolationLevel,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic

from harness.client.driver import DriverError, place_of
from harness.client.librdkafka import LOGGER, Config, driver_error

_GRACE_S = 2.0
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]


class ConfluentAdmin:
    def __init__(self, config: Config, patience_s: float) -> None:
        self._admin = AdminClient(config, logger=LOGGER)
        self._patience_s = patience_s

    def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, config=dict(configs))
        self._result(self._admin.create_topics([new], **self._timeouts)[topic])

    def create_partitions(self, topic: str, count: int) -> None:
        more = NewPartitions(topic, count)
        self._result(self._admin.create_partitions([more], **self._timeouts)[topic])

    def delete_topic(self, topic: str) -> None:
        self._result(self._admin.delete_topics([topic], **self._timeouts)[topic])

    def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        entries = [
            ConfigEntry(
                name,
                value,
                incremental_operation=AlterConfigOpType.DELETE
                if value is None
                else AlterConfigOpType.SET,
            )
            for name, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        asked = self._admin.incremental_alter_configs([resource], request_timeout=self._patience_s)
        self._result(asked[resource])

    def describe_topic(self, topic: str) -> dict[str, Any] | None:
        asked = self._admin.describe_topics(
            TopicCollection([topic]), request_timeout=self._patience_s
        )
        try:
            described = self._result(asked[topic])
            resource = ConfigResource(ResourceType.TOPIC, topic)
            found = self._admin.describe_configs([resource], request_timeout=self._patience_s)
            configs = self._result(found[resource])
        except DriverError as error:
            if error.name == "UNKNOWN_TOPIC_OR_PARTITION":
                return None
            raise
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {
            "partitions": len(described.partitions),
            "configs": {
                name: entry.value for name, entry in sorted(configs.items()) if entry.source == own
            },
        }

    def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        deadline = time.monotonic() + self._patience_s
        uncommitted, committed = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED
        return {
            "low": self._offsets(keys, _EARLIEST, uncommitted, deadline),
            "stable": self._offsets(keys, _LATEST, committed, deadline),
            "high": self._offsets(keys, _LATEST, uncommitted, deadline),
        }

    def _offsets(
        self, keys: Sequence[str], spec: OffsetSpec, isolation: IsolationLevel, deadline: float
    ) -> dict[str, int]:
        wanted = {
            TopicPartition(place.topic, place.partition): key
            for key in keys
            for place in (place_of(key),)
        }
        asked = self._admin.list_offsets(
            dict.fromkeys(wanted, spec),
            isolation_level=isolation,
            request_timeout=max(deadline - time.monotonic(), 0.001),
        )
        found = {wanted[where]: self._result(told).offset for where, told in asked.items()}
        for key, offset in found.items():
            if offset < 0:  # so librdkafka says that it has found no leader to ask
                raise DriverError("LEADER_NOT_AVAILABLE", f"nobody tells the offsets of {key}")
        return found

    @property
    def _timeouts(self) -> dict[str, float]:
        return {"request_timeout": self._patience_s, "operation_timeout": self._patience_s}

    def _result(self, asked: Future[Any]) -> Any:
        self._admin.poll(0)  # hands over what it has logged since
        try:
            return asked.result(self._patience_s + _GRACE_S)
        except FutureTimeoutError:
            raise DriverError("_TIMED_OUT", "no answer in time") from None
        except KafkaException as error:
            raise driver_error(error.args[0]) from error
