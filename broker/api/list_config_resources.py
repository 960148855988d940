"""ListConfigResources: what could be asked of DescribeConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.broker_loggers import BROKER_LOGGER
from broker.api.request import Request
from broker.metadata.changes import ResourceType
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_CLIENT_METRICS = 16
_KNOWN_TYPES = (ResourceType.TOPIC, ResourceType.BROKER, BROKER_LOGGER, _CLIENT_METRICS, 32)


def list_config_resources(
    node: Node, request: Request[m.ListConfigResourcesRequest]
) -> m.ListConfigResourcesResponse:
    """Version 0 asks for client metrics only, and there are none. No types means all."""
    wanted = request.body.resource_types if request.version > 0 else [_CLIENT_METRICS]
    if any(each not in _KNOWN_TYPES for each in wanted):
        return m.ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    resources: list[m.ConfigResource] = []
    if not wanted or ResourceType.TOPIC in wanted:
        resources += [
            m.ConfigResource(resource_name=topic.name, resource_type=ResourceType.TOPIC)
            for topic in node.metadata.image.topics_sorted()
        ]
    for kind in (ResourceType.BROKER, BROKER_LOGGER):
        if not wanted or kind in wanted:
            resources.append(m.ConfigResource(resource_name=str(node.node_id), resource_type=kind))
    return m.ListConfigResourcesResponse(config_resources=resources)
