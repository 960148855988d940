"""DeleteRecords moves the start of the log, and never past what is committed."""

import pytest

from broker.api.delete_records import delete_records
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


async def delete(
    node: Node, topic: str, offset: int, index: int = 0
) -> m.DeleteRecordsPartitionResult:
    asked = m.DeleteRecordsTopic(
        name=topic, partitions=[m.DeleteRecordsPartition(partition_index=index, offset=offset)]
    )
    body = m.DeleteRecordsRequest(topics=[asked])
    answer = await delete_records(node, ask(ApiKey.DELETE_RECORDS, body))
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize(("offset", "start"), [(3, 3), (-1, 5), (0, 0), (5, 5)])
async def test_the_log_begins_where_it_was_told(offset: int, start: int) -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        append(node, "t", 5)
        done = await delete(node, "t", offset)
        assert (done.error_code, done.low_watermark) == (ErrorCode.NONE, start)
        [partition] = node.partitions
        assert partition.log.start_offset == start


@pytest.mark.parametrize(
    ("topic", "index", "offset", "code"),
    [
        ("t", 0, 6, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("t", 0, -2, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("t", 1, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nope", 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("compacted", 0, 0, ErrorCode.POLICY_VIOLATION),
    ],
)
async def test_each_mistake_has_its_code(
    topic: str, index: int, offset: int, code: ErrorCode
) -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        await create_topic(node, "compacted", cleanup_policy="compact")
        append(node, "t", 5)
        done = await delete(node, topic, offset, index)
        assert (done.error_code, done.low_watermark) == (code, -1)


async def test_deleting_less_than_is_deleted_already_changes_nothing() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        append(node, "t", 5)
        await delete(node, "t", 4)
        assert (await delete(node, "t", 2)).low_watermark == 4


async def test_a_topic_without_partitions_is_left_out_of_the_answer() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        body = m.DeleteRecordsRequest(topics=[m.DeleteRecordsTopic(name="t", partitions=[])])
        answer = await delete_records(node, ask(ApiKey.DELETE_RECORDS, body))
        assert answer.topics == []
