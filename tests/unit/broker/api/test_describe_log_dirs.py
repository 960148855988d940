"""DescribeLogDirs: what lies where."""

from broker.api.describe_log_dirs import describe_log_dirs
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


async def describe(
    node: Node, topics: list[m.DescribableLogDirTopic] | None
) -> list[m.DescribeLogDirsResult]:
    body = m.DescribeLogDirsRequest(topics=topics)
    return (await describe_log_dirs(node, ask(ApiKey.DESCRIBE_LOG_DIRS, body))).results


def contents(result: m.DescribeLogDirsResult) -> list[tuple[str, int]]:
    return [(topic.name, each.partition_index) for topic in result.topics
            for each in topic.partitions]  # fmt: skip


async def test_every_partition_is_in_one_directory_with_its_size() -> None:
    async with running_node(disks={"a": MemoryDisk(), "b": MemoryDisk()}) as node:
        await create_topic(node, "t", 2)
        append(node, "t", 3)
        results = await describe(node, None)
        assert [result.log_dir for result in results] == ["a", "b"]
        assert sorted(contents(results[0]) + contents(results[1])) == [("t", 0), ("t", 1)]
        sizes = {
            each.partition_index: each.partition_size
            for result in results
            for topic in result.topics
            for each in topic.partitions
        }
        assert (sizes[0] > 0, sizes[1]) == (True, 0)
        assert all(result.usable_bytes > 0 for result in results)


async def test_only_what_is_asked_for_is_told() -> None:
    async with running_node() as node:
        await create_topic(node, "t", 3)
        await create_topic(node, "u")
        asked = [m.DescribableLogDirTopic(topic="t", partitions=[1, 9])]
        [result] = await describe(node, asked)
        assert contents(result) == [("t", 1)]
        [result] = await describe(node, [])
        assert contents(result) == []


async def test_a_directory_that_fails_says_so() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"a": disk}) as node:
        disk.fail("free_bytes")
        [result] = await describe(node, None)
        disk.heal()
        assert (result.error_code, result.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
