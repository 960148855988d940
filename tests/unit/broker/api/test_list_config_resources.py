"""ListConfigResources: topics and this broker."""

import pytest

from broker.api.list_config_resources import list_config_resources
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node


@pytest.mark.parametrize(
    ("types", "version", "expected"),
    [
        ([], 1, [("a", 2), ("b", 2), ("1", 4), ("1", 8)]),
        ([2], 1, [("a", 2), ("b", 2)]),
        ([4, 16], 1, [("1", 4)]),
        ([], 0, []),
    ],
)
async def test_what_can_be_described_is_listed(
    types: list[int], version: int, expected: list[tuple[str, int]]
) -> None:
    async with running_node() as node:
        await create_topic(node, "b")
        await create_topic(node, "a")
        body = m.ListConfigResourcesRequest(resource_types=types)
        told = list_config_resources(node, ask(ApiKey.LIST_CONFIG_RESOURCES, body, version))
        assert [(each.resource_name, each.resource_type) for each in told.config_resources] == (
            expected
        )


async def test_an_unknown_type_is_refused() -> None:
    async with running_node() as node:
        body = m.ListConfigResourcesRequest(resource_types=[77])
        told = list_config_resources(node, ask(ApiKey.LIST_CONFIG_RESOURCES, body))
        assert told.error_code == ErrorCode.UNSUPPORTED_VERSION
