"""AlterConfigs: the whole of a resource's configuration, replaced."""

from broker.api.alter_configs import alter_configs
from broker.metadata.changes import ResourceType
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node


async def alter(
    node: Node, topic: str, configs: dict[str, str | None], *, times: int = 1
) -> m.AlterConfigsResponseAlterConfigsResourceResponse:
    resource = m.AlterConfigsRequestAlterConfigsResource(
        resource_type=ResourceType.TOPIC,
        resource_name=topic,
        configs=[
            m.AlterConfigsRequestAlterableConfig(name=name, value=value)
            for name, value in configs.items()
        ],
    )
    body = m.AlterConfigsRequest(resources=[resource] * times)
    return (await alter_configs(node, ask(ApiKey.ALTER_CONFIGS, body))).responses[0]


async def test_what_is_not_named_returns_to_its_default() -> None:
    async with running_node() as node:
        await create_topic(node, "t", retention_ms="5", segment_ms="7")
        assert (await alter(node, "t", {"segment.ms": "8"})).error_code == ErrorCode.NONE
        assert node.metadata.image.topic_configs("t") == {"segment.ms": "8"}
        [partition] = node.partitions
        assert partition.log.config.retention_ms == 604800000


async def test_a_mistake_changes_nothing() -> None:
    async with running_node() as node:
        await create_topic(node, "t", retention_ms="5")
        codes = [
            (await alter(node, "t", {"segment.ms": "8", "x": "1"})).error_code,
            (await alter(node, "t", {"segment.ms": None})).error_code,
            (await alter(node, "t", {"segment.ms": "8"}, times=2)).error_code,
            (await alter(node, "nope", {"segment.ms": "8"})).error_code,
            (await alter(node, "", {"segment.ms": "8"})).error_code,
        ]
        assert codes == [
            ErrorCode.INVALID_CONFIG,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.INVALID_REQUEST,
        ]
        assert node.metadata.image.topic_configs("t") == {"retention.ms": "5"}
