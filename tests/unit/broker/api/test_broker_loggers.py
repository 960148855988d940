"""Levels of loggers, read and changed while the broker runs."""

import logging
from collections.abc import Iterator

import pytest

from broker.api.describe_configs import describe_configs
from broker.api.incremental_alter_configs import Operation
from broker.api.table import API_TABLE
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask, create_topic, running_node

SET, DELETE, APPEND = Operation.SET, Operation.DELETE, Operation.APPEND
REQUESTS = "broker.request"

Edit = tuple[str, int, str | None]
Resource = m.IncrementalAlterConfigsRequestAlterConfigsResource


@pytest.fixture(autouse=True)
def _levels_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("broker", REQUESTS)]
    before = [logger.level for logger in loggers]
    loggers[0].setLevel(logging.INFO)
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


def resource(kind: int, name: str, *edits: Edit) -> Resource:
    return Resource(
        resource_type=kind,
        resource_name=name,
        configs=[
            m.IncrementalAlterConfigsRequestAlterableConfig(
                name=key, config_operation=operation, value=value
            )
            for key, operation, value in edits
        ],
    )


async def alter(node: Node, *resources: Resource, validate_only: bool = False) -> list[int]:
    body = m.IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    handler = API_TABLE[ApiKey.INCREMENTAL_ALTER_CONFIGS].handler
    answer = await handler(node, ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body))
    return [each.error_code for each in answer.responses]


def levels(node: Node, *names: str) -> list[tuple[str, str | None, int]]:
    asked = m.DescribeConfigsResource(
        resource_type=8, resource_name="1", configuration_keys=list(names) or None
    )
    body = m.DescribeConfigsRequest(resources=[asked])
    [result] = at_once(describe_configs(node, ask(ApiKey.DESCRIBE_CONFIGS, body))).results
    assert result.error_code == ErrorCode.NONE
    return [(each.name, each.value, each.config_source) for each in result.configs]


async def test_a_level_is_changed_at_once_and_taken_back() -> None:
    async with running_node() as node:
        log = node.server.dispatcher.request_log
        assert levels(node, "root", REQUESTS) == [("root", "INFO", 6), (REQUESTS, "INFO", 6)]
        assert len(levels(node)) > 10
        change = resource(8, "1", (REQUESTS, SET, "DEBUG"))
        assert await alter(node, change, validate_only=True) == [0]
        assert not log.is_on
        assert await alter(node, change) == [0]
        assert levels(node, REQUESTS) == [(REQUESTS, "DEBUG", 6)]
        assert log.is_on
        assert await alter(node, resource(8, "1", (REQUESTS, DELETE, None))) == [0]
        assert levels(node, REQUESTS) == [(REQUESTS, "INFO", 6)]
        assert not log.is_on


async def test_loggers_are_changed_here_and_the_rest_by_the_controller() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        topic = resource(2, "t", ("retention.ms", SET, "5"))
        assert await alter(node, resource(8, "1", ("root", SET, "ERROR")), topic) == [0, 0]
        assert node.metadata.image.topic_configs("t") == {"retention.ms": "5"}
        assert levels(node, REQUESTS) == [(REQUESTS, "ERROR", 6)]


@pytest.mark.parametrize(
    ("name", "edit", "code"),
    [
        ("2", (REQUESTS, SET, "INFO"), ErrorCode.INVALID_REQUEST),
        ("", (REQUESTS, SET, "INFO"), ErrorCode.INVALID_REQUEST),
        ("1", ("nobody", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        ("1", (REQUESTS, SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        ("1", (REQUESTS, APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        ("1", ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_is_refused(name: str, edit: Edit, code: ErrorCode) -> None:
    async with running_node() as node:
        assert await alter(node, resource(8, name, edit)) == [code]
        assert levels(node, REQUESTS) == [(REQUESTS, "INFO", 6)]
