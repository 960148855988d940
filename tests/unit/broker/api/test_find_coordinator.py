"""FindCoordinator: the leader of the group's partition, which is made when it is first needed."""

import asyncio
from typing import Any

import pytest

from broker.api.find_coordinator import find_coordinator
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, running_node


async def find(node: Node, version: int, **fields: Any) -> m.FindCoordinatorResponse:
    body = m.FindCoordinatorRequest(**fields)
    answer = find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body, version))
    return await answer if asyncio.iscoroutine(answer) else answer


@pytest.mark.parametrize("key_type", [0, 1])
async def test_one_key_is_answered_in_the_old_form(key_type: int) -> None:
    async with running_node() as node:
        found = await find(node, 3, key="g", key_type=key_type)
        told = (found.error_code, found.node_id, found.host, found.port)
        assert told == (0, 1, "localhost", 9092)


async def test_many_keys_are_answered_each() -> None:
    async with running_node() as node:
        found = await find(node, 4, key_type=0, coordinator_keys=["g", "h"])
        assert [(each.key, each.node_id, each.error_message) for each in found.coordinators] == [
            ("g", 1, None),
            ("h", 1, None),
        ]


async def test_the_first_group_makes_the_topic_with_kafkas_configuration() -> None:
    async with running_node() as node:
        assert node.groups.topic is None
        await find(node, 4, key_type=0, coordinator_keys=["g"])
        topic = node.metadata.image.topic("__consumer_offsets")
        assert topic is not None
        assert (len(topic.partitions), topic.partitions[0].replicas) == (50, (1,))
        assert node.metadata.image.topic_configs("__consumer_offsets") == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "104857600",
        }


async def test_with_too_few_brokers_there_is_no_coordinator() -> None:
    async with running_node({"offsets.topic.replication.factor": "3"}) as node:
        [found] = (await find(node, 4, key_type=0, coordinator_keys=["g"])).coordinators
        assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
        assert "replication factor" in (found.error_message or "")
        assert node.groups.topic is None


async def test_an_unknown_kind_of_coordinator_is_refused() -> None:
    async with running_node() as node:
        [found] = (await find(node, 4, key_type=2, coordinator_keys=["g"])).coordinators
        assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)
