"""The lag of groups as their coordinator computes it: own partitions, bounds, groups that end."""

from __future__ import annotations

import asyncio

import pytest

from broker import group_lag
from broker.api.create_topics import create_topics
from broker.api.delete_topics import delete_topics
from broker.network.sockets import SocketNetwork
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    coordinator_is_ready,
    delete,
)
from tests.unit.broker.api.nodes import NobodyNetwork, append, ask, create_topic, running_node
from tests.unit.broker.api.other_brokers import let_in
from tests.unit.broker.cli.scripted_broker import HANG_UP, scripted

ALONE = {**ONE_PARTITION, "controlled.shutdown.enable": "false"}
"""At its end it does not wait for other brokers to lead what it led."""


async def lags(node: Node) -> dict[tuple[str, str, int], int]:
    """Of now: the figures of a moment ago are forgotten."""
    node.group_lag._fresh_until = 0.0
    found = await node.group_lag.look()
    return {(each.group_id, each.topic, each.partition): lag for each, lag in found.lags()}


async def create_topic_led_by(node: Node, name: str, broker_id: int) -> None:
    assigned = m.CreatableReplicaAssignment(partition_index=0, broker_ids=[broker_id])
    topic = m.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=[assigned]
    )
    body = m.CreateTopicsRequest(topics=[topic], timeout_ms=1000)
    answer = await create_topics(node, ask(ApiKey.CREATE_TOPICS, body))
    assert answer.topics[0].error_code == 0, answer.topics[0].error_message


async def test_the_lag_is_the_high_watermark_minus_the_committed_offset() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        append(node, "t", 5)
        await coordinator_is_ready(node)
        await commit(node, 2)
        await commit(node, 5, group="done")
        assert await lags(node) == {("g", "t", 0): 3, ("done", "t", 0): 0}
        append(node, "t", 4)
        assert await lags(node) == {("g", "t", 0): 7, ("done", "t", 0): 4}
        await commit(node, 100)  # of a log that was longer once
        assert (await lags(node))["g", "t", 0] == 0


async def test_a_deleted_group_and_a_deleted_topic_have_no_lag() -> None:
    async with running_node(ONE_PARTITION) as node:
        for topic in ("t", "u"):
            await create_topic(node, topic)
        await coordinator_is_ready(node)
        for group in ("g", "h"):
            for topic in ("t", "u"):
                await commit(node, 0, group=group, topic=topic)
        assert len(await lags(node)) == 4
        assert await delete(node, "h") == {"h": 0}
        body = m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name="u")], timeout_ms=1000)
        await delete_topics(node, ask(ApiKey.DELETE_TOPICS, body))
        assert await lags(node) == {("g", "t", 0): 0}


async def test_offsets_beyond_the_limit_are_counted_and_not_exported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_lag, "OFFSETS_MAX", 3)
    async with running_node({"offsets.topic.num.partitions": "3"}) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        for number in range(8):
            await coordinator_is_ready(node, f"g{number}")
            await commit(node, 0, group=f"g{number}")
        found = await node.group_lag.look()
        assert (len(found.offsets), found.left_out) == (3, 5)


async def test_readers_that_come_together_cost_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await commit(node, 0)
        first, *others = await asyncio.gather(*(node.group_lag.look() for _ in range(5)))
        assert first.offsets
        assert all(each is first for each in others)
        monkeypatch.setattr(group_lag, "_FRESH_S", 0.0)
        node.group_lag._fresh_until = 0.0
        assert await node.group_lag.look() is not await node.group_lag.look()


async def test_a_leader_that_cannot_be_reached_leaves_its_partitions_without_a_lag() -> None:
    """The network of this node lets nobody connect."""
    async with running_node(ALONE) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await let_in(node, 2)
        await create_topic_led_by(node, "elsewhere", 2)
        for topic in ("t", "elsewhere"):
            assert await commit(node, 0, topic=topic) == 0
        async with asyncio.timeout(group_lag._PATIENCE_S + 5):
            assert await lags(node) == {("g", "t", 0): 0}
        assert len((await node.group_lag.look()).offsets) == 2


async def test_other_leaders_are_asked_for_their_log_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them, on a real socket. What it cannot tell is left out."""

    def told(code: ErrorCode, offset: int) -> m.ListOffsetsResponse:
        part = m.ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=offset)
        topics = [m.ListOffsetsTopicResponse(name="elsewhere", partitions=[part])]
        return m.ListOffsetsResponse(topics=topics)

    answers = [told(ErrorCode.NONE, 9), told(ErrorCode.OFFSET_NOT_AVAILABLE, -1), HANG_UP]
    answers.append(told(ErrorCode.NONE, 10))
    async with scripted({ApiKey.LIST_OFFSETS: answers}) as other, running_node(ALONE) as node:
        monkeypatch.setattr(
            NobodyNetwork, "connect", lambda _, address: SocketNetwork().connect(other.address)
        )
        await coordinator_is_ready(node)
        await let_in(node, 2)
        await create_topic_led_by(node, "elsewhere", 2)
        assert await commit(node, 4, topic="elsewhere") == 0
        key = ("g", "elsewhere", 0)
        assert [await lags(node) for _ in answers] == [{key: 5}, {}, {}, {key: 6}]
        [api_key, _, body] = other.asked[0]
        assert api_key == ApiKey.LIST_OFFSETS
        assert (body.replica_id, body.isolation_level) == (-1, 0)
        assert [each.timestamp for each in body.topics[0].partitions] == [-1]


async def test_a_partition_between_two_leaders_has_no_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        await commit(node, 0)
        partition = node.partitions.find("t", 0)
        assert partition is not None
        monkeypatch.setattr(partition, "leader", None)
        assert await lags(node) == {}


async def test_a_channel_to_a_broker_that_left_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    part = m.ListOffsetsPartitionResponse(partition_index=0, offset=9)
    topics = [m.ListOffsetsTopicResponse(name="elsewhere", partitions=[part])]
    answers = {ApiKey.LIST_OFFSETS: [m.ListOffsetsResponse(topics=topics)]}
    async with scripted(answers) as other, running_node(ALONE) as node:
        monkeypatch.setattr(
            NobodyNetwork, "connect", lambda _, address: SocketNetwork().connect(other.address)
        )
        await coordinator_is_ready(node)
        await let_in(node, 2)
        await create_topic_led_by(node, "elsewhere", 2)
        assert await commit(node, 4, topic="elsewhere") == 0
        assert len(await lags(node)) == 1
        assert list(node.group_lag._requests.channels._channels) == [2]
        body = m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name="elsewhere")], timeout_ms=1000)
        await delete_topics(node, ask(ApiKey.DELETE_TOPICS, body))
        monkeypatch.setattr(node.role, "address_of", lambda _: None)
        assert await lags(node) == {}
        assert not node.group_lag._requests.channels._channels
