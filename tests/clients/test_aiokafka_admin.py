"""The admin client of aiokafka."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import TIMEOUT_S, Message, Reader

pytestmark = pytest.mark.clients
Result = TypeVar("Result")


def run(bootstrap: str, work: Callable[[AIOKafkaAdminClient], Awaitable[Result]]) -> Result:
    async def with_client() -> Result:
        client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await client.start()
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(asyncio.wait_for(with_client(), TIMEOUT_S))


def test_topics_are_created_grown_listed_and_deleted(bootstrap: str) -> None:
    topic = f"trial-{uuid.uuid4().hex[:12]}"

    async def work(client: AIOKafkaAdminClient) -> None:
        await client.create_topics([NewTopic(topic, 2, 1)])
        await client.create_partitions({topic: NewPartitions(5)})
        partitions: list[int] = []
        # A cluster may tell of new partitions a moment after it has agreed to them.
        while len(partitions) < 5:
            (described,) = await client.describe_topics([topic])
            partitions = sorted(one["partition"] for one in described["partitions"])
        assert partitions == [0, 1, 2, 3, 4]
        await client.delete_topics([topic])
        assert topic not in await client.list_topics()

    run(bootstrap, work)


def test_configs_are_described_and_altered(bootstrap: str, create_topic: CreateTopic) -> None:
    topic = create_topic()

    async def work(client: AIOKafkaAdminClient) -> None:
        wanted = {"retention.ms": "7200000"}
        await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, wanted)])
        asked = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": None})
        (answer,) = await client.describe_configs([asked])
        ((_, _, _, _, entries),) = answer.resources
        assert [(entry[0], entry[1]) for entry in entries] == [("retention.ms", "7200000")]

    run(bootstrap, work)


def test_the_cluster_describes_itself(bootstrap: str) -> None:
    async def work(client: AIOKafkaAdminClient) -> None:
        cluster = await client.describe_cluster()
        assert [f"{one['host']}:{one['port']}" for one in cluster["brokers"]] == [bootstrap]
        assert cluster["controller_id"] == 1

    run(bootstrap, work)


def test_records_are_deleted_before_an_offset(
    bootstrap: str, create_topic: CreateTopic, witness: Reader
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, [Message(b"x") for _ in range(10)])

    async def work(client: AIOKafkaAdminClient) -> None:
        place = TopicPartition(topic, 0)
        assert await client.delete_records({place: RecordsToDelete(4)}) == {place: 4}

    run(bootstrap, work)
    assert witness.bounds(topic, 0) == (4, 10)
