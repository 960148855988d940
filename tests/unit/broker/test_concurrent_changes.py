"""Changes that are asked for at the same time are decided one after the other."""

import asyncio

import pytest

from broker.disk.memory import MemoryDisk
from broker.metadata.changes import Change, ConfigChanged, ResourceType
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import commit_while_stopped, create_topic, formatted, running_node, wire


def more_partitions(count: int) -> m.CreatePartitionsRequest:
    topic = m.CreatePartitionsTopic(name="t", count=count, assignments=None)
    return m.CreatePartitionsRequest(topics=[topic], timeout_ms=1000)


def config(name: str, value: str) -> m.IncrementalAlterConfigsRequest:
    edit = m.IncrementalAlterConfigsRequestAlterableConfig(
        name=name, config_operation=0, value=value
    )
    resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=ResourceType.TOPIC, resource_name="t", configs=[edit]
    )
    return m.IncrementalAlterConfigsRequest(resources=[resource])


async def test_two_who_want_three_partitions_get_three() -> None:
    async with running_node() as node, wire(node) as one, wire(node) as other:
        await create_topic(one, "t")
        answers = await asyncio.gather(
            one.ask(ApiKey.CREATE_PARTITIONS, 2, more_partitions(3)),
            other.ask(ApiKey.CREATE_PARTITIONS, 2, more_partitions(3)),
        )
        codes = sorted(answer.results[0].error_code for answer in answers)
        assert codes == [ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS]
        assert len(node.metadata.image.topics["t"].partitions) == len(node.partitions) == 3


async def test_two_configurations_that_exclude_each_other_are_not_both_taken() -> None:
    async with running_node() as node, wire(node) as one, wire(node) as other:
        await create_topic(one, "t")
        answers = await asyncio.gather(
            one.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, config("min.compaction.lag.ms", "5000")),
            other.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, config("max.compaction.lag.ms", "1000")),
        )
        codes = sorted(answer.responses[0].error_code for answer in answers)
        assert codes == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]
        assert len(node.metadata.image.topic_configs("t")) == 1


@pytest.mark.parametrize(
    "stored",
    [
        [
            ConfigChanged(ResourceType.TOPIC, "t", "min.compaction.lag.ms", "5000"),
            ConfigChanged(ResourceType.TOPIC, "t", "max.compaction.lag.ms", "1000"),
            ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "77"),
        ],
        [
            ConfigChanged(ResourceType.TOPIC, "t", "of.another.version", "1"),
            ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "77"),
        ],
        [
            ConfigChanged(ResourceType.BROKER, "1", "of.another.version", "1"),
            ConfigChanged(ResourceType.BROKER, "1", "log.retention.ms", "77"),
        ],
    ],
)
async def test_a_stored_configuration_that_is_not_valid_does_not_refuse_the_start(
    stored: list[Change],
) -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
    await commit_while_stopped(disk, stored)
    async with running_node(disks=disks) as node:
        [partition] = node.partitions
        assert partition.log.config.retention_ms == 77
