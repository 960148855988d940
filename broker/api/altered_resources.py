"""What AlterConfigs and IncrementalAlterConfigs share: resources in, one result for each out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from broker.api.config_effects import with_effects
from broker.api.config_resources import plan_configs
from broker.api.repeated import repeated
from broker.api.request import Request
from broker.metadata.changes import Change, ConfigChanged
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


class _Resource(Protocol):
    resource_type: int
    resource_name: str


Asked = TypeVar("Asked", bound=_Resource)


async def alter_resources(
    node: Node,
    request: Request[Any],
    resources: Sequence[Asked],
    configs_after: Callable[[Asked], Mapping[str, str]],
    *,
    make_result: Callable[..., Any],
    validate_only: bool,
) -> list[Any]:
    """`configs_after` says what a resource's configurations shall be; it may raise KafkaError."""
    names = ((each.resource_type, each.resource_name) for each in resources)
    twice = await repeated(names, request)
    results: list[Any] = []

    async def decide() -> Sequence[Change]:
        changes: list[ConfigChanged] = []
        for resource in resources:
            await request.pause()
            key = resource.resource_type, resource.resource_name
            result = make_result(error_message=None, resource_type=key[0], resource_name=key[1])
            results.append(result)
            try:
                if key in twice:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the resource is named twice")
                changes += plan_configs(node, *key, configs_after(resource))
            except KafkaError as error:
                result.error_code, result.error_message = error.code, request.explain(error)
        return [] if validate_only else with_effects(node, changes)

    try:
        await node.change(decide)
    except KafkaError as error:
        for result in results:
            if result.error_code == ErrorCode.NONE:
                result.error_code, result.error_message = error.code, request.explain(error)
    return results
