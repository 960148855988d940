"""AlterConfigs: replaces all configurations of a resource at once. Kafka's older way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.altered_resources import alter_resources
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def alter_configs(
    node: Node, request: Request[m.AlterConfigsRequest]
) -> m.AlterConfigsResponse:
    results = await alter_resources(
        node,
        request,
        request.body.resources,
        _replacement,
        make_result=m.AlterConfigsResponseAlterConfigsResourceResponse,
        validate_only=request.body.validate_only,
    )
    return m.AlterConfigsResponse(responses=results)


def _replacement(resource: m.AlterConfigsRequestAlterConfigsResource) -> dict[str, str]:
    after: dict[str, str] = {}
    for config in resource.configs:
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{config.name} has no value")
        if config.name in after:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{config.name} is given twice")
        after[config.name] = config.value
    return after
