"""IncrementalAlterConfigs: sets, deletes, appends to and takes from single configurations."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from broker.api.altered_resources import alter_resources
from broker.api.config_resources import current_configs
from broker.api.request import Request
from broker.config.definitions import BROKER_PROPERTIES
from broker.config.definitions.topic import SYNONYMS, TOPIC_PROPERTIES
from broker.config.property import Kind
from broker.config.topic import broker_value
from broker.config.values import value_text
from broker.metadata.changes import ResourceType
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def incremental_alter_configs(
    node: Node, request: Request[m.IncrementalAlterConfigsRequest]
) -> m.IncrementalAlterConfigsResponse:
    results = await alter_resources(
        node,
        request,
        request.body.resources,
        lambda resource: _after(node, resource),
        make_result=m.IncrementalAlterConfigsResponseAlterConfigsResourceResponse,
        validate_only=request.body.validate_only,
    )
    return m.IncrementalAlterConfigsResponse(responses=results)


def _after(
    node: Node, resource: m.IncrementalAlterConfigsRequestAlterConfigsResource
) -> dict[str, str]:
    after = dict(current_configs(node, resource.resource_type, resource.resource_name))
    names = Counter(config.name for config in resource.configs)
    for config in resource.configs:
        name = config.name
        if names[name] > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is given twice")
        if config.config_operation == Operation.DELETE:
            after.pop(name, None)
            continue
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} has no value")
        if config.config_operation == Operation.SET:
            after[name] = config.value
        elif config.config_operation in (Operation.APPEND, Operation.SUBTRACT):
            now = after.get(name)
            if now is None:
                now = _list_default(node, resource.resource_type, name)
            appends = config.config_operation == Operation.APPEND
            after[name] = _edit_list(now, config.value, appends=appends)
            _check_is_list(resource.resource_type, name)
        else:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"no operation has the number {config.config_operation}"
            )
    return after


def _edit_list(now: str, edit: str, *, appends: bool) -> str:
    entries = [entry.strip() for entry in now.split(",") if entry.strip()]
    edited = [entry.strip() for entry in edit.split(",") if entry.strip()]
    if appends:
        return ",".join(dict.fromkeys(entries + edited))
    return ",".join(entry for entry in entries if entry not in edited)


def _check_is_list(resource_type: int, name: str) -> None:
    table = TOPIC_PROPERTIES if resource_type == ResourceType.TOPIC else BROKER_PROPERTIES
    if name in table and table[name].kind is not Kind.LIST:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} is not a list: set it instead")


def _list_default(node: Node, resource_type: int, name: str) -> str:
    """A list that was never set is edited as it stands by default."""
    if resource_type == ResourceType.TOPIC:
        if name in SYNONYMS:
            return value_text(broker_value(node.config, name)) or ""
        known = TOPIC_PROPERTIES.get(name)
    else:
        known = BROKER_PROPERTIES.get(name)
        if known is not None:
            return value_text(node.config.values[name]) or ""
    return (value_text(known.default) or "") if known is not None else ""
