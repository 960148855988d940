"""Metadata, in all its versions' manners of asking."""

import asyncio
import errno
from collections.abc import Coroutine

import pytest

from broker.api.metadata import metadata
from broker.api.operations import NOT_ASKED, TOPIC_OPERATIONS
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.api.nodes import CLUSTER_ID, append, ask, create_topic, running_node


async def answer(
    node: Node, body: m.MetadataRequest, version: int | None = None
) -> m.MetadataResponse:
    answered = metadata(node, ask(ApiKey.METADATA, body, version))
    if isinstance(answered, Coroutine):
        return await answered
    return answered


def named(*names: str) -> m.MetadataRequest:
    topics = [m.MetadataRequestTopic(name=name) for name in names]
    return m.MetadataRequest(topics=topics, allow_auto_topic_creation=True)


async def test_the_node_tells_of_itself_and_its_topics() -> None:
    async with running_node({"broker.rack": "r1"}) as node:
        topic_id = await create_topic(node, "t", 2)
        told = await answer(node, m.MetadataRequest(topics=None))
        assert (told.cluster_id, told.controller_id) == (CLUSTER_ID, 1)
        [broker] = told.brokers
        assert (broker.node_id, broker.host, broker.port, broker.rack) == (
            1,
            "localhost",
            9092,
            "r1",
        )
        [topic] = told.topics
        assert (topic.name, topic.topic_id, topic.is_internal) == ("t", topic_id, False)
        assert [
            (each.partition_index, each.leader_id, each.replica_nodes, each.isr_nodes)
            for each in topic.partitions
        ] == [(0, 1, [1], [1]), (1, 1, [1], [1])]


@pytest.mark.parametrize(
    ("topics", "version", "count"), [(None, 1, 1), ([], 1, 0), ([], 0, 1), ([], 13, 0)]
)
async def test_no_topics_means_all_only_in_version_0_and_null_means_all_later(
    topics: list[m.MetadataRequestTopic] | None, version: int, count: int
) -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        told = await answer(node, m.MetadataRequest(topics=topics), version)
        assert len(told.topics) == count


async def test_an_unknown_or_impossible_name_is_told_as_such() -> None:
    async with running_node() as node:
        told = await answer(node, named("nope", "a b", ""))
        assert [topic.error_code for topic in told.topics] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
        ]
        assert node.metadata.image.topics == {}


async def test_operations_are_told_also_for_topics_that_are_not_there() -> None:
    async with running_node({"auto.create.topics.enable": "false"}) as node:
        body = named("nope", "a b")
        told = await answer(node, body)
        assert {each.topic_authorized_operations for each in told.topics} == {NOT_ASKED}
        body.include_topic_authorized_operations = True
        told = await answer(node, body)
        assert {each.topic_authorized_operations for each in told.topics} == {TOPIC_OPERATIONS}


async def test_a_topic_is_found_by_its_id_from_version_12_on() -> None:
    async with running_node() as node:
        topic_id = await create_topic(node, "t")
        asked = [
            m.MetadataRequestTopic(name=None, topic_id=topic_id),
            m.MetadataRequestTopic(name=None, topic_id=b"\x09" * 16),
        ]
        told = await answer(node, m.MetadataRequest(topics=asked), 12)
        assert [(topic.name, topic.error_code) for topic in told.topics] == [
            ("t", ErrorCode.NONE),
            (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ]
        told = await answer(node, m.MetadataRequest(topics=asked), 11)
        assert {topic.error_code for topic in told.topics} == {ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize(
    ("enabled", "allowed", "version", "created"),
    [
        ("true", True, 13, True),
        ("true", False, 13, False),
        ("true", False, 3, True),
        ("false", True, 13, False),
    ],
)
async def test_a_topic_is_created_when_the_broker_and_the_client_want_it(
    enabled: str, allowed: bool, version: int, created: bool
) -> None:
    properties = {"auto.create.topics.enable": enabled, "num.partitions": "3"}
    async with running_node(properties) as node:
        body = named("t")
        body.allow_auto_topic_creation = allowed
        [topic] = (await answer(node, body, version)).topics
        assert (topic.error_code == ErrorCode.NONE) is created
        assert len(topic.partitions) == (3 if created else 0)


async def test_askers_at_the_same_time_create_a_topic_once() -> None:
    async with running_node({"auto.create.topics.enable": "true"}) as node:
        told = await asyncio.gather(*(answer(node, named("t", "u")) for _ in range(8)))
        ids = {topic.topic_id for each in told for topic in each.topics}
        assert len(ids) == 2
        assert {topic.error_code for each in told for topic in each.topics} == {ErrorCode.NONE}


async def test_operations_are_told_only_when_asked_for() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        body = m.MetadataRequest(
            topics=None,
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        )
        told = await answer(node, body, 10)
        assert (told.cluster_authorized_operations, told.topics[0].topic_authorized_operations) == (
            8096,
            3576,
        )
        told = await answer(node, m.MetadataRequest(topics=None), 10)
        assert told.cluster_authorized_operations == -(2**31)


async def test_a_partition_whose_disk_fails_has_no_leader() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        await create_topic(node, "t")
        disk.fail("append", error=errno.EIO)
        with pytest.raises(KafkaError):
            append(node, "t", 1)
        [topic] = (await answer(node, named("t"))).topics
        [partition] = topic.partitions
        assert (partition.leader_id, partition.offline_replicas) == (-1, [1])
        assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
        disk.heal()
