"""Levels of loggers as configurations of the resource BROKER_LOGGER (KIP-412).

They belong to one process and are not in the metadata: a broker answers for itself alone, and a
restart forgets them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from broker.api.config_entries import ConfigSource
from broker.api.forwarding import Handler
from broker.api.incremental_alter_configs import Operation
from broker.api.repeated import repeated
from broker.api.request import Request
from broker.observe.log_levels import LEVELS, ROOT, logger_levels, set_level
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

BROKER_LOGGER = 8

_Resource = m.IncrementalAlterConfigsRequestAlterConfigsResource
_Result = m.IncrementalAlterConfigsResponseAlterConfigsResourceResponse


def describe_loggers(
    node: Node, name: str, wanted: Collection[str] | None
) -> list[m.DescribeConfigsResourceResult]:
    """Raises KafkaError unless the resource is this broker."""
    _check_is_this_broker(node, name)
    return [
        m.DescribeConfigsResourceResult(
            name=logger,
            value=level,
            config_source=ConfigSource.DYNAMIC_BROKER_LOGGER,
            synonyms=[],
            documentation=None,
        )
        for logger, level in logger_levels().items()
        if wanted is None or logger in wanted
    ]


def loggers_here(others: Handler) -> Handler:
    """IncrementalAlterConfigs: loggers are changed here, and `others` carries out the rest."""

    async def answer(node: Node, request: Request[m.IncrementalAlterConfigsRequest]) -> Any:
        body = request.body
        here = [each for each in body.resources if each.resource_type == BROKER_LOGGER]
        if not here:
            return await others(node, request)
        twice = await repeated((each.resource_name for each in here), request)
        results = []
        for resource in here:
            await request.pause()
            is_repeated = resource.resource_name in twice
            results.append(
                _alter(node, resource, is_repeated=is_repeated, validate_only=body.validate_only)
            )
        body.resources = [each for each in body.resources if each.resource_type != BROKER_LOGGER]
        if body.resources:
            results += (await others(node, request)).responses
        return m.IncrementalAlterConfigsResponse(responses=results)

    return answer


def _alter(node: Node, resource: _Resource, *, is_repeated: bool, validate_only: bool) -> _Result:
    result = _Result(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        if is_repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the resource is named twice")
        _check_is_this_broker(node, resource.resource_name)
        levels = _checked(resource)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
        return result
    if not validate_only:
        for logger, level in levels.items():
            set_level(logger, level)
            _log.info("the level of logger %s is now %s", logger, level or "inherited")
        node.log_levels_changed()
    return result


def _checked(resource: _Resource) -> dict[str, str | None]:
    """The level that each logger shall have; None to inherit one. Raises KafkaError."""
    known = logger_levels()
    levels: dict[str, str | None] = {}
    for config in resource.configs:
        name, operation = config.name, config.config_operation
        if name in levels:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is given twice")
        if operation not in (Operation.SET, Operation.DELETE):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a level can only be set or deleted")
        if name not in known:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"there is no logger {name!r}")
        if operation == Operation.DELETE:
            if name == ROOT:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"{ROOT} has no other logger to inherit from"
                )
            levels[name] = None
            continue
        if config.value not in LEVELS:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"{config.value!r} is not one of {', '.join(LEVELS)}"
            )
        levels[name] = config.value
    return levels


def _check_is_this_broker(node: Node, name: str) -> None:
    if name != str(node.node_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"broker {node.node_id} knows only its own loggers; ask broker {name or '(none)'}",
        )
