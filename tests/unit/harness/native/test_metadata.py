"""Leaders are learned from whoever knows best, and never unlearned."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.errors import BrokerError, NodeUnreachableError, NoLeaderError
from harness.native.metadata import Leader
from harness.wire.message import Message
from tests.unit.harness.native.client_worlds import HASTY, ScriptedBroker, client_of, scripted


async def test_a_known_leader_is_not_asked_for_again() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)
    async with scripted(broker), client_of(broker.address) as client:
        for _ in range(3):
            assert await client.metadata.leader("t", 0) == Leader(1, 0)
        assert broker.count(ApiKey.METADATA) == 1
        client.metadata.invalidate()
        await client.metadata.leader("t", 0)
        assert broker.count(ApiKey.METADATA) == 2


async def test_those_who_ask_at_once_share_an_answer() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)
    async with scripted(broker), client_of(broker.address) as client:
        found = await asyncio.gather(*(client.metadata.leader("t", 0) for _ in range(5)))
        assert found == [Leader(1, 0)] * 5
        assert broker.count(ApiKey.METADATA) == 1


async def test_an_older_epoch_is_not_believed() -> None:
    broker = ScriptedBroker()
    async with scripted(broker), client_of(broker.address) as client:
        for said, believed in (
            (Leader(1, 5), Leader(1, 5)),
            (Leader(2, 4), Leader(1, 5)),
            (Leader(2, 6), Leader(2, 6)),
        ):
            broker.set_leader("t", said.node_id, said.epoch)
            client.metadata.invalidate()
            assert await client.metadata.leader("t", 0) == believed


async def test_a_new_topic_of_the_same_name_starts_again() -> None:
    broker = ScriptedBroker()
    async with scripted(broker), client_of(broker.address) as client:
        broker.set_leader("t", 1, 5, topic_id=b"a" * 16)
        await client.metadata.leader("t", 0)
        broker.set_leader("t", 2, 0, topic_id=b"b" * 16)
        client.metadata.invalidate()
        assert await client.metadata.leader("t", 0) == Leader(2, 0)
        assert client.metadata.topic_name(b"b" * 16) == "t"
        assert client.metadata.topic_name(b"a" * 16) is None


async def test_a_leader_learned_from_a_refusal_counts_by_its_epoch() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 5)
    async with scripted(broker), client_of(broker.address) as client:
        await client.metadata.leader("t", 0)
        client.metadata.learn_leader("t", 0, Leader(2, 5), {})
        assert await client.metadata.leader("t", 0) == Leader(1, 5)
        client.metadata.learn_leader("t", 0, Leader(2, 6), {})
        assert await client.metadata.leader("t", 0) == Leader(2, 6)
        client.metadata.learn_leader("unheard of", 0, Leader(2, 6), {})


async def test_no_leader_no_partition_and_no_topic_are_told_apart() -> None:
    broker = ScriptedBroker()
    async with scripted(broker), client_of(broker.address) as client:
        broker.set_leader("t", -1, 3)
        with pytest.raises(NoLeaderError, match="t-0 has no leader"):
            await client.metadata.leader("t", 0)
        with pytest.raises(BrokerError, match="t-7: UNKNOWN_TOPIC_OR_PARTITION"):
            await client.metadata.leader("t", 7)
        broker.topics = [
            m.MetadataResponseTopic(name="t", error_code=ErrorCode.INVALID_TOPIC_EXCEPTION)
        ]
        with pytest.raises(BrokerError, match="t: INVALID_TOPIC_EXCEPTION"):
            await client.metadata.leader("t", 0)


async def test_when_one_node_is_gone_the_next_is_asked() -> None:
    one, two = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (one, two):
        broker.set_leader("t", 2, 1)
    async with scripted(one, two), client_of(one.address) as client:
        await client.metadata.leader("t", 0)
        await one.stop()
        for _ in range(4):
            client.metadata.invalidate()
            assert await client.metadata.leader("t", 0) == Leader(2, 1)
        await two.stop()
        client.metadata.invalidate()
        with pytest.raises(NodeUnreachableError):
            await client.metadata.leader("t", 0)


async def test_a_node_that_is_silent_is_given_up_for_another() -> None:
    silent, lively = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (silent, lively):
        broker.set_leader("t", 2, 1)

    async def first_only(message: Message) -> m.MetadataResponse | None:
        return silent.metadata() if silent.count(ApiKey.METADATA) == 1 else None

    silent.script[ApiKey.METADATA] = first_only
    hasty = replace(HASTY, metadata_timeout_s=0.1)
    async with scripted(silent, lively), client_of(silent.address, settings=hasty) as client:
        await client.metadata.leader("t", 0)
        for _ in range(3):
            client.metadata.invalidate()
            assert await client.metadata.leader("t", 0) == Leader(2, 1)
        assert silent.count(ApiKey.METADATA) <= 3
