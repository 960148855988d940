"""DescribeTopicPartitions: all pages together tell of every partition once."""

import pytest

from broker.api.describe_topic_partitions import describe_topic_partitions
from broker.api.operations import TOPIC_OPERATIONS
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask, create_topic, running_node


def page(
    node: Node,
    limit: int,
    cursor: m.DescribeTopicPartitionsResponseCursor | None = None,
    names: tuple[str, ...] = (),
) -> m.DescribeTopicPartitionsResponse:
    body = m.DescribeTopicPartitionsRequest(
        topics=[m.DescribeTopicPartitionsRequestTopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None
        if cursor is None
        else m.DescribeTopicPartitionsRequestCursor(
            topic_name=cursor.topic_name, partition_index=cursor.partition_index
        ),
    )
    return at_once(describe_topic_partitions(node, ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, body)))


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
async def test_pages_of_any_size_tell_of_every_partition_once(limit: int) -> None:
    async with running_node() as node:
        for name, count in (("b", 3), ("a", 2), ("c", 1)):
            await create_topic(node, name, count)
        told: list[tuple[str | None, int]] = []
        cursor = None
        for _ in range(10):
            answer = page(node, limit, cursor)
            found = [(topic.name, each.partition_index) for topic in answer.topics
                     for each in topic.partitions]  # fmt: skip
            assert len(found) <= limit
            told += found
            cursor = answer.next_cursor
            if cursor is None:
                break
        assert told == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]


async def test_the_brokers_own_limit_holds_too() -> None:
    async with running_node({"max.request.partition.size.limit": "2"}) as node:
        await create_topic(node, "a", 3)
        answer = page(node, 1000)
        assert len(answer.topics[0].partitions) == 2
        assert answer.next_cursor is not None


async def test_topics_are_told_by_name_and_unknown_ones_with_an_error() -> None:
    async with running_node() as node:
        topic_id = await create_topic(node, "a")
        known, unknown, wrong = page(node, 10, names=("b b", "a", "b")).topics
        assert (known.name, known.topic_id, known.error_code) == ("a", topic_id, ErrorCode.NONE)
        assert (unknown.name, unknown.error_code) == ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert unknown.topic_authorized_operations == TOPIC_OPERATIONS
        assert (wrong.name, wrong.error_code) == ("b b", ErrorCode.INVALID_TOPIC_EXCEPTION)


@pytest.mark.parametrize(("topic", "index"), [("a", -1), ("b", 0), ("", 0)])
async def test_a_cursor_that_no_page_ended_with_is_refused(topic: str, index: int) -> None:
    async with running_node() as node:
        await create_topic(node, "a", 2)
        await create_topic(node, "b", 2)
        cursor = m.DescribeTopicPartitionsResponseCursor(topic_name=topic, partition_index=index)
        answer = page(node, 10, cursor, ("a",))
        assert [each.error_code for each in answer.topics] == [ErrorCode.INVALID_REQUEST]
