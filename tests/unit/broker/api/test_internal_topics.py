"""Internal topics: made with Kafka's configuration, read by anybody, written by brokers only."""

from __future__ import annotations

import asyncio
from typing import Any

from broker.api.create_partitions import create_partitions
from broker.api.delete_records import delete_records
from broker.api.delete_topics import delete_topics
from broker.api.metadata import metadata
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import fetch as fetch_records
from tests.nodes import produce, wire
from tests.nodes import running_node as listening_node
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    committed,
    coordinator_is_ready,
    fetch,
)
from tests.unit.broker.api.nodes import ask, create_topic, running_node
from tests.unit.broker.log.builders import batch

OFFSETS = "__consumer_offsets"


async def ask_metadata(node: Node, name: str, *, may_create: bool) -> m.MetadataResponseTopic:
    body = m.MetadataRequest(
        topics=[m.MetadataRequestTopic(name=name)], allow_auto_topic_creation=may_create
    )
    answer: Any = metadata(node, ask(ApiKey.METADATA, body))
    told = await answer if asyncio.iscoroutine(answer) else answer
    [topic] = told.topics
    return topic  # type: ignore[no-any-return]


async def test_metadata_makes_it_as_the_first_group_would() -> None:
    async with running_node({"num.partitions": "3", "auto.create.topics.enable": "true"}) as node:
        topic = await ask_metadata(node, OFFSETS, may_create=False)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (topic.error_code, topic.is_internal) == (unknown, True)
        topic = await ask_metadata(node, OFFSETS, may_create=True)
        assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 50)
        assert node.metadata.image.topic_configs(OFFSETS)["cleanup.policy"] == "compact"


async def test_clients_may_read_it_and_not_write_it() -> None:
    async with listening_node(ONE_PARTITION) as node, wire(node) as connection:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5) == 0
        for acks in (1, -1):
            refused = await produce(connection, batch(b"x"), OFFSETS, acks=acks)
            assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        seen = await fetch_records(connection, 0, OFFSETS)
        assert (seen.error_code, seen.high_watermark) == (0, 1)


async def test_its_records_and_partitions_are_not_for_clients_to_change() -> None:
    async with running_node(ONE_PARTITION) as node:
        await coordinator_is_ready(node)
        part = m.DeleteRecordsPartition(partition_index=0, offset=0)
        topics = [m.DeleteRecordsTopic(name=OFFSETS, partitions=[part])]
        body = m.DeleteRecordsRequest(timeout_ms=1000, topics=topics)
        answer = await delete_records(node, ask(ApiKey.DELETE_RECORDS, body))
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        more = m.CreatePartitionsTopic(name=OFFSETS, count=60, assignments=None)
        grow = m.CreatePartitionsRequest(timeout_ms=1000, topics=[more])
        grown = await create_partitions(node, ask(ApiKey.CREATE_PARTITIONS, grow))
        assert grown.results[0].error_code == ErrorCode.INVALID_PARTITIONS


async def test_when_it_is_deleted_nobody_coordinates_until_it_is_made_again() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await commit(node, 5)
        gone = m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name=OFFSETS)])
        answer = await delete_topics(node, ask(ApiKey.DELETE_TOPICS, gone))
        assert answer.responses[0].error_code == 0
        assert (await fetch(node)).error_code == ErrorCode.NOT_COORDINATOR
        await coordinator_is_ready(node)
        assert await committed(node) == {}
