"""DescribeConfigs: what topics and brokers are configured to, and by whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker.api.broker_loggers import BROKER_LOGGER, describe_loggers
from broker.api.config_entries import (
    ConfigEntry,
    broker_entries,
    default_broker_entries,
    topic_entries,
)
from broker.api.config_resources import broker_resource, topic_resource
from broker.api.request import Request
from broker.config.property import Update
from broker.metadata.changes import ResourceType
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def describe_configs(
    node: Node, request: Request[m.DescribeConfigsRequest]
) -> m.DescribeConfigsResponse:
    """One short resource has up to three hundred configurations, so that answers are wide."""
    request.make_wide()
    body = request.body
    results: list[m.DescribeConfigsResult] = []
    for resource in body.resources:
        await request.pause()
        result = m.DescribeConfigsResult(
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        results.append(result)
        # No names are all names, as in Kafka: null and the empty list mean the same.
        wanted = set(resource.configuration_keys or ()) or None
        try:
            if resource.resource_type == BROKER_LOGGER:
                result.configs = describe_loggers(node, resource.resource_name, wanted)
                continue
            entries = _entries(node, resource)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, request.explain(error)
            continue
        result.configs = [
            _describe(entry, resource.resource_type, body)
            for entry in entries
            if wanted is None or entry.name in wanted
        ]
    return m.DescribeConfigsResponse(results=results)


def _entries(node: Node, resource: m.DescribeConfigsResource) -> Iterable[ConfigEntry]:
    if resource.resource_type == ResourceType.TOPIC:
        topic_resource(node, resource.resource_name)
        overrides = node.metadata.image.topic_configs(resource.resource_name)
        return topic_entries(node, overrides)
    if resource.resource_type == ResourceType.BROKER:
        if broker_resource(node, resource.resource_name) is None:
            return default_broker_entries(node)
        return broker_entries(node)
    raise KafkaError(
        ErrorCode.INVALID_REQUEST,
        f"resources of type {resource.resource_type} have no configurations here; topics (2), "
        "brokers (4) and their loggers (8) do",
    )


def _describe(
    entry: ConfigEntry, resource_type: int, body: m.DescribeConfigsRequest
) -> m.DescribeConfigsResourceResult:
    sensitive = entry.known.sensitive
    return m.DescribeConfigsResourceResult(
        name=entry.name,
        value=None if sensitive else entry.value,
        read_only=resource_type == ResourceType.BROKER and entry.known.update is Update.READ_ONLY,
        config_source=entry.source,
        is_sensitive=sensitive,
        synonyms=[
            m.DescribeConfigsSynonym(
                name=synonym.name,
                value=None if sensitive else synonym.value,
                source=synonym.source,
            )
            for synonym in entry.synonyms
        ]
        if body.include_synonyms
        else [],
        config_type=entry.known.kind,
        documentation=entry.known.about if body.include_documentation else None,
    )
