"""CreatePartitions: topics grow, and never shrink."""

import pytest

from broker.api.create_partitions import create_partitions
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


async def grow(
    node: Node,
    name: str,
    count: int,
    assignments: list[list[int]] | None = None,
    *,
    validate_only: bool = False,
    times: int = 1,
) -> m.CreatePartitionsTopicResult:
    topic = m.CreatePartitionsTopic(
        name=name,
        count=count,
        assignments=None
        if assignments is None
        else [m.CreatePartitionsAssignment(broker_ids=nodes) for nodes in assignments],
    )
    body = m.CreatePartitionsRequest(topics=[topic] * times, validate_only=validate_only)
    answer = await create_partitions(node, ask(ApiKey.CREATE_PARTITIONS, body))
    return answer.results[0]


async def test_new_partitions_are_empty_and_the_old_ones_stay() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        append(node, "t", 3)
        assert (await grow(node, "t", 3)).error_code == ErrorCode.NONE
        assert [partition.log.end_offset for partition in node.partitions] == [3, 0, 0]
        assert len(node.metadata.image.topics["t"].partitions) == 3


@pytest.mark.parametrize(
    ("name", "count", "assignments", "code"),
    [
        ("t", 3, [[1]], ErrorCode.NONE),
        ("nope", 3, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 2, None, ErrorCode.INVALID_PARTITIONS),
        ("t", 1, None, ErrorCode.INVALID_PARTITIONS),
        ("t", -5, None, ErrorCode.INVALID_PARTITIONS),
        ("t", 2_000_000_000, None, ErrorCode.POLICY_VIOLATION),
        ("t", 3, [[1], [1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 3, [[5]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 3, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
async def test_each_mistake_has_its_code(
    name: str, count: int, assignments: list[list[int]] | None, code: ErrorCode
) -> None:
    async with running_node() as node:
        await create_topic(node, "t", 2)
        answer = await grow(node, name, count, assignments)
        assert answer.error_code == code
        assert (answer.error_message is None) is (code == ErrorCode.NONE)


async def test_validating_only_adds_nothing() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert (await grow(node, "t", 3, validate_only=True)).error_code == ErrorCode.NONE
        assert len(node.partitions) == 1


async def test_a_topic_that_is_named_twice_stays_as_it_is() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert (await grow(node, "t", 3, times=2)).error_code == ErrorCode.INVALID_REQUEST


async def test_a_topic_that_is_named_twice_is_answered_once() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        body = m.CreatePartitionsRequest(
            topics=[m.CreatePartitionsTopic(name="t", count=3, assignments=None)] * 2
        )
        answer = await create_partitions(node, ask(ApiKey.CREATE_PARTITIONS, body))
        assert [each.error_code for each in answer.results] == [ErrorCode.INVALID_REQUEST]
