"""What aiokafka's admin client is asked for. It tells errors in its answers, and does not retry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from harness.client.driver import DriverError
from harness.client.error_names import error_name

_OWN_SETTING = 1
"""DYNAMIC_TOPIC_CONFIG, of Kafka's sources of settings."""
_UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"


class AiokafkaAdmin:
    def __init__(self, common: Mapping[str, Any], timeout_ms: int) -> None:
        self._admin = AIOKafkaAdminClient(**common, request_timeout_ms=timeout_ms)

    async def start(self) -> None:
        await self._admin.start()

    async def close(self) -> None:
        await self._admin.close()

    async def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, topic_configs=dict(configs))
        answer = await self._admin.create_topics([new])
        for _, code, *message in answer.topic_errors:
            _check(code, message[0] if message else None)

    async def create_partitions(self, topic: str, count: int) -> None:
        answer = await self._admin.create_partitions({topic: NewPartitions(count)})
        for _, code, *message in answer.topic_errors:
            _check(code, message[0] if message else None)

    async def delete_topic(self, topic: str) -> None:
        answer = await self._admin.delete_topics([topic])
        for _, code, *_ in answer.topic_error_codes:
            _check(code)

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """The whole of a topic's settings is replaced, so what is not named is read before."""
        try:
            own = await self._own_settings(topic)
        except DriverError as error:
            raise DriverError(error.name, error.message, harmless=True) from error
        wanted = {name: value for name, value in {**own, **configs}.items() if value is not None}
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=wanted)
        for answer in await self._admin.alter_configs([resource]):
            for code, message, *_ in answer.resources:
                _check(code, message)

    async def describe_topic(self, topic: str) -> dict[str, Any] | None:
        (described,) = await self._admin.describe_topics([topic])
        try:
            _check(described["error_code"])
            return {
                "partitions": len(described["partitions"]),
                "configs": await self._own_settings(topic),
            }
        except DriverError as error:
            if error.name == _UNKNOWN_TOPIC:
                return None
            raise

    async def _own_settings(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        own: dict[str, str] = {}
        for answer in await self._admin.describe_configs([resource]):
            for code, message, _, _, entries in answer.resources:
                _check(code, message)
                own |= {
                    name: value for name, value, _, source, *_ in entries if source == _OWN_SETTING
                }
        return dict(sorted(own.items()))


def _check(code: int, message: str | None = None) -> None:
    if code != 0:
        raise DriverError(error_name(code, f"error {code}"), message or "")
