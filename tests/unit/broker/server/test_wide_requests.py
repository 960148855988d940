"""Requests with very many elements are served in slices, and refused above the bound."""

import asyncio
import logging
from typing import Any

import pytest

from broker.api.table import API_TABLE
from broker.log.breather import CALLS_PER_SLICE, Breather
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.server.wide_requests import WorkLease
from tests.nodes import running_node, wait_until, wire
from tests.unit.broker.api.nodes import ask
from tests.unit.broker.api.nodes import running_node as unconnected_node

NARROW, WIDE, TOO_WIDE = 400, 3000, 100_001


def named(count: int) -> m.MetadataRequest:
    return m.MetadataRequest(
        topics=[m.MetadataRequestTopic(name=f"t{n}") for n in range(count)],
        allow_auto_topic_creation=False,
    )


async def test_a_wide_request_is_answered_for_every_element() -> None:
    async with running_node() as node, wire(node) as client:
        for count in (NARROW, WIDE):
            answer = await client.ask(ApiKey.METADATA, 8, named(count))
            assert [topic.name for topic in answer.topics] == [f"t{n}" for n in range(count)]
        assert node.server.memory.used_bytes == 0


async def test_others_are_answered_while_a_wide_request_is_worked_on() -> None:
    async with running_node() as node, wire(node) as greedy, wire(node) as other:
        partitions = [m.ListOffsetsPartition(partition_index=n) for n in range(90_000)]
        body = m.ListOffsetsRequest(topics=[m.ListOffsetsTopic(name="t", partitions=partitions)])
        greedy.writer.write(greedy.frame(ApiKey.LIST_OFFSETS, 7, body))
        asked = asyncio.create_task(greedy.answer(ApiKey.LIST_OFFSETS, 7))
        passed = 0
        while not asked.done():
            await other.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
            passed += 1
        _, answer = await asked
        assert len(answer.topics[0].partitions) == 90_000
        assert passed > 10


def of_one_topic(key: ApiKey, count: int) -> object:
    if key is ApiKey.OFFSET_COMMIT:
        parts = [m.OffsetCommitRequestPartition(partition_index=n) for n in range(count)]
        return m.OffsetCommitRequest(
            topics=[m.OffsetCommitRequestTopic(name="t", partitions=parts)]
        )
    topic = m.AlterReplicaLogDirTopic(name="t", partitions=list(range(count)))
    return m.AlterReplicaLogDirsRequest(dirs=[m.AlterReplicaLogDir(path="/no", topics=[topic])])


@pytest.mark.parametrize("key", [ApiKey.OFFSET_COMMIT, ApiKey.ALTER_REPLICA_LOG_DIRS])
async def test_a_handler_of_a_wide_request_pauses(key: ApiKey) -> None:
    async with unconnected_node() as node:
        request = ask(key, of_one_topic(key, WIDE))
        request.breather = Breather()
        answer = asyncio.ensure_future(API_TABLE[key].handler(node, request))
        pauses = 0
        while not answer.done():
            await asyncio.sleep(0)
            pauses += 1
        assert pauses >= WIDE // CALLS_PER_SLICE
        told = await answer
        [topic] = told.topics if key is ApiKey.OFFSET_COMMIT else told.results
        assert [part.partition_index for part in topic.partitions] == list(range(WIDE))


def offsets_of_topics(by_id: bool) -> m.OffsetFetchRequest:
    if not by_id:
        return m.OffsetFetchRequest(
            group_id="g", topics=[m.OffsetFetchRequestTopic(name="t")] * WIDE
        )
    topics = [m.OffsetFetchRequestTopics(topic_id=b"?" * 16)] * WIDE
    return m.OffsetFetchRequest(groups=[m.OffsetFetchRequestGroup(group_id="g", topics=topics)])


def quorums(topics: int, partitions: int) -> m.DescribeQuorumRequest:
    parts = [m.DescribeQuorumRequestPartitionData()] * partitions
    return m.DescribeQuorumRequest(
        topics=[m.DescribeQuorumRequestTopicData(topic_name="t", partitions=parts)] * topics
    )


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (ApiKey.OFFSET_FETCH, 1, offsets_of_topics(by_id=False)),
        (ApiKey.OFFSET_FETCH, 10, offsets_of_topics(by_id=True)),
        (
            ApiKey.OFFSET_FETCH,
            10,
            m.OffsetFetchRequest(groups=[m.OffsetFetchRequestGroup(group_id="g")] * WIDE),
        ),
        (
            ApiKey.ADD_PARTITIONS_TO_TXN,
            5,
            m.AddPartitionsToTxnRequest(transactions=[m.AddPartitionsToTxnTransaction()] * WIDE),
        ),
        (
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            m.AddPartitionsToTxnRequest(
                v3_and_below_topics=[m.AddPartitionsToTxnTopic(name="t")] * WIDE
            ),
        ),
        (
            ApiKey.DESCRIBE_TRANSACTIONS,
            0,
            m.DescribeTransactionsRequest(transactional_ids=["x"] * WIDE),
        ),
        (ApiKey.DESCRIBE_GROUPS, 6, m.DescribeGroupsRequest(groups=["g"] * WIDE)),
        (ApiKey.DESCRIBE_QUORUM, 2, quorums(WIDE, 0)),
        (ApiKey.DESCRIBE_QUORUM, 2, quorums(1, WIDE)),
    ],
)
async def test_a_handler_pauses_for_elements_that_cannot_be_found(
    key: ApiKey, version: int, body: object
) -> None:
    async with unconnected_node() as node:
        request = ask(key, body, version)
        request.breather = Breather()
        answer = asyncio.ensure_future(API_TABLE[key].handler(node, request))
        pauses = 0
        while not answer.done():
            await asyncio.sleep(0)
            pauses += 1
        await answer
        assert pauses >= WIDE // CALLS_PER_SLICE


async def test_a_sentence_about_a_quorum_is_not_repeated_for_every_partition() -> None:
    async with running_node() as node, wire(node) as client:
        answer = await client.ask(ApiKey.DESCRIBE_QUORUM, 2, quorums(1, WIDE))
        [topic] = answer.topics
        assert {each.error_code for each in topic.partitions} == {
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        }
        assert len(topic.partitions) == WIDE
        assert 0 < sum(each.error_message is not None for each in topic.partitions) < 1000


async def test_one_element_too_many_closes_the_connection_with_a_line_that_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with running_node() as node, wire(node) as client:
        client.writer.write(client.frame(ApiKey.METADATA, 8, named(TOO_WIDE)))
        assert await client.is_closed()
        assert node.server.memory.used_bytes == 0
    assert "METADATA v8 has 100001 topics" in caplog.text
    assert "may have 100000 elements" in caplog.text


async def test_many_arrays_are_too_many_together() -> None:
    async with running_node() as node, wire(node) as client:
        partitions = [m.ListOffsetsPartition(partition_index=n) for n in range(300)]
        topics = [m.ListOffsetsTopic(name="t", partitions=partitions)] * 400
        client.writer.write(
            client.frame(ApiKey.LIST_OFFSETS, 7, m.ListOffsetsRequest(topics=topics))
        )
        assert await client.is_closed()


async def test_a_client_that_leaves_a_wide_request_lets_the_next_one_begin() -> None:
    async with running_node() as node:
        async with wire(node) as gone:
            gone.writer.write(gone.frame(ApiKey.METADATA, 8, named(50_000)))
            await gone.writer.drain()
        async with wire(node) as client:
            answer = await client.ask(ApiKey.METADATA, 8, named(WIDE))
            assert len(answer.topics) == WIDE


async def test_no_answer_is_encoded_for_a_client_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_node() as node:
        encoded = 0
        encode = node.server.dispatcher.frame_in_slices

        async def count(*arguments: Any) -> Any:
            nonlocal encoded
            encoded += 1
            return await encode(*arguments)

        monkeypatch.setattr(node.server.dispatcher, "frame_in_slices", count)
        # Another wide request of this API is at work until the client is gone.
        turn = WorkLease(node.server.wide_requests.gate(ApiKey.METADATA), node.server.memory)
        await turn.take_turn()
        async with wire(node) as gone:
            gone.writer.write(gone.frame(ApiKey.METADATA, 8, named(WIDE)))
            await wait_until(lambda: node.server.memory.used_bytes > 0)
        await wait_until(lambda: node.server.connection_count == 0)
        turn.end()
        await wait_until(lambda: node.server.memory.used_bytes == 0)
        assert encoded == 0
        async with wire(node) as client:
            await client.ask(ApiKey.METADATA, 8, named(WIDE))
        assert encoded == 1


async def test_a_wide_fetch_finds_what_there_is_and_errors_for_the_rest() -> None:
    async with running_node() as node, wire(node) as client:
        await client.ask(
            ApiKey.CREATE_TOPICS,
            5,
            m.CreateTopicsRequest(
                topics=[m.CreatableTopic(name="t", num_partitions=2, replication_factor=1)],
                timeout_ms=5000,
            ),
        )
        asked = [m.FetchPartition(partition=n, partition_max_bytes=1000) for n in range(WIDE)]
        body = m.FetchRequest(
            max_wait_ms=50, session_epoch=0, topics=[m.FetchTopic(topic="t", partitions=asked)]
        )
        answer = await client.ask(ApiKey.FETCH, 11, body)
        codes = [each.error_code for each in answer.responses[0].partitions]
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes == [ErrorCode.NONE] * 2 + [unknown] * (WIDE - 2)
        assert answer.session_id > 0


async def test_a_wide_produce_is_answered_for_every_partition() -> None:
    async with running_node() as node, wire(node) as client:
        data = [m.PartitionProduceData(index=n, records=None) for n in range(WIDE)]
        topic = m.TopicProduceData(name="t", partition_data=data)
        body = m.ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
        answer = await client.ask(ApiKey.PRODUCE, 8, body)
        partitions = answer.responses[0].partition_responses
        assert [each.index for each in partitions] == list(range(WIDE))
        assert {each.error_code for each in partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        # The sentence quotes the topic's name, and so would multiply it.
        assert sum(each.error_message is not None for each in partitions) < 1000


async def test_a_large_buffer_grows_where_it_lies() -> None:
    async with running_node() as node, wire(node) as client:
        body = m.ProduceRequest(
            acks=1,
            topic_data=[
                m.TopicProduceData(
                    name="t",
                    partition_data=[m.PartitionProduceData(index=0, records=bytes(40 << 20))],
                )
            ],
        )
        answer = await client.ask(ApiKey.PRODUCE, 8, body)
        [partition] = answer.responses[0].partition_responses
        assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert node.server.memory.used_bytes == 0
