"""Groups of which only offsets are known: listed, described, deleted, and ended with a topic."""

from __future__ import annotations

import asyncio

from broker.api.delete_topics import delete_topics
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    committed,
    coordinator_is_ready,
    delete,
    described,
    listed,
)
from tests.unit.broker.api.nodes import StillClock, ask, create_topic, running_node

HOUR_MS = 3_600_000


async def test_a_group_of_offsets_is_an_empty_classic_one() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await commit(node, 5)
        assert await listed(node, [], []) == [("g", "Empty", "classic")]
        assert await listed(node, ["emPTY"], ["CLASSIC"]) == [("g", "Empty", "classic")]
        assert await listed(node, ["Stable"], []) == await listed(node, [], ["consumer"]) == []
        told = await described(node, "g", 6)
        assert (told.error_code, told.group_state, told.members) == (0, "Empty", [])
        assert told.authorized_operations == 3400


async def test_an_unknown_group_is_dead() -> None:
    async with running_node(ONE_PARTITION) as node:
        await coordinator_is_ready(node)
        old, new = await described(node, "g", 5), await described(node, "g", 6)
        assert (old.error_code, old.group_state) == (ErrorCode.NONE, "Dead")
        assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")


async def test_a_deleted_group_has_no_offsets() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await commit(node, 5)
        assert await delete(node, "g", "g", "h") == {"g": 0, "h": ErrorCode.GROUP_ID_NOT_FOUND}
        assert await committed(node) == {}
        assert await listed(node, [], []) == []
        assert await delete(node, "g") == {"g": ErrorCode.GROUP_ID_NOT_FOUND}


async def test_offsets_go_with_their_topic() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await create_topic(node, "u")
        await coordinator_is_ready(node)
        await commit(node, 5)
        await commit(node, 6, topic="u")
        gone = m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name="t")])
        await delete_topics(node, ask(ApiKey.DELETE_TOPICS, gone))
        assert await committed(node) == {("u", 0): 6}
        await create_topic(node, "t")
        assert await committed(node) == {("u", 0): 6}


async def test_offsets_expire_a_while_after_their_commit() -> None:
    properties = {
        **ONE_PARTITION,
        "offsets.retention.minutes": "60",
        "offsets.retention.check.interval.ms": "1",
    }
    async with running_node(properties) as node:
        await create_topic(node, "t")
        await create_topic(node, "u")
        await coordinator_is_ready(node)
        await commit(node, 5)
        _advance(node, HOUR_MS - 1)
        await commit(node, 6, topic="u")
        assert await committed(node) == {("t", 0): 5, ("u", 0): 6}
        _advance(node, 1)
        await _until_committed(node, {("u", 0): 6})
        _advance(node, HOUR_MS)
        await _until_committed(node, {})
        assert await listed(node, [], []) == []


async def test_a_client_may_ask_for_a_retention_of_its_own() -> None:
    properties = {**ONE_PARTITION, "offsets.retention.check.interval.ms": "1"}
    async with running_node(properties) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await commit(node, 5, version=4, retention_time_ms=1000)
        _advance(node, 999)
        await asyncio.sleep(0.02)
        assert await committed(node) == {("t", 0): 5}
        _advance(node, 1)
        await _until_committed(node, {})


async def _until_committed(node: Node, expected: dict[tuple[str, int], int]) -> None:
    async with asyncio.timeout(10):
        while await committed(node) != expected:  # noqa: ASYNC110 - as a client
            await asyncio.sleep(0.001)


def _advance(node: Node, ms: int) -> None:
    clock = node.world.clock
    assert isinstance(clock, StillClock)
    clock.time_ms += ms
