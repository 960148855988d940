"""AlterConfigs: replaces all configurations of a resource at once. Kafka's older way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.config_effects import with_effects
from broker.api.config_resources import plan_configs
from broker.api.request import Request
from broker.metadata.changes import Change, ConfigChanged
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def alter_configs(
    node: Node, request: Request[m.AlterConfigsRequest]
) -> m.AlterConfigsResponse:
    body = request.body
    asked = Counter((each.resource_type, each.resource_name) for each in body.resources)
    results: list[m.AlterConfigsResponseAlterConfigsResourceResponse] = []

    def decide() -> Sequence[Change]:
        changes: list[ConfigChanged] = []
        for resource in body.resources:
            key = resource.resource_type, resource.resource_name
            result = m.AlterConfigsResponseAlterConfigsResourceResponse(
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            results.append(result)
            try:
                if asked[key] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the resource is named twice")
                changes += plan_configs(node, *key, _replacement(resource))
            except KafkaError as error:
                result.error_code, result.error_message = error.code, error.message
        return [] if body.validate_only else with_effects(node, changes)

    try:
        await node.change(decide)
    except KafkaError as error:
        for result in results:
            if result.error_code == ErrorCode.NONE:
                result.error_code, result.error_message = error.code, error.message
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
