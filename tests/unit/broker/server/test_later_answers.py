"""Answers that come by a call: in order, one request at a time, also for clients that are gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.server.dispatch import Dispatcher
from tests.nodes import Wire, create_topic, running_node, wait_until, wire

GROUP = "g"
ALONE = {"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1"}


def commit(offset: int) -> m.OffsetCommitRequest:
    part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = m.OffsetCommitRequestTopic(name="t", partitions=[part])
    return m.OffsetCommitRequest(group_id=GROUP, topics=[topic])


def heartbeat() -> m.HeartbeatRequest:
    return m.HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="nobody")


def error_of(answer: m.OffsetCommitResponse) -> int:
    code: int = answer.topics[0].partitions[0].error_code
    return code


async def coordinated(client: Wire) -> None:
    """Returns when the group has a coordinator that has loaded."""
    await create_topic(client, "t")
    find = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    async with asyncio.timeout(20):
        while True:
            await client.ask(ApiKey.FIND_COORDINATOR, 4, find)
            if not error_of(await client.ask(ApiKey.OFFSET_COMMIT, 8, commit(0))):
                return
            await asyncio.sleep(0.01)


def committed(node: Node) -> int | None:
    [(_, shard)] = node.groups.shards
    found = shard.machine.offsets.find(GROUP, "t", 0)
    return None if found is None else found.offset


async def test_requests_behind_one_that_waits_are_answered_in_order() -> None:
    async with running_node(ALONE) as node, wire(node) as client:
        await coordinated(client)
        asked: list[tuple[ApiKey, int, Any]] = []
        for number in range(50):
            asked.append((ApiKey.OFFSET_COMMIT, 8, commit(number)))
            asked.append((ApiKey.HEARTBEAT, 4, heartbeat()))
            asked.append((ApiKey.API_VERSIONS, 3, m.ApiVersionsRequest()))
        sent = [client.frame(*each) for each in asked]
        client.writer.write(b"".join(sent))
        first, _ = await client.answer(ApiKey.OFFSET_COMMIT, 8)
        for number, (key, version, _) in enumerate(asked[1:], first + 1):
            correlation_id, answer = await client.answer(key, version)
            assert correlation_id == number
            if key == ApiKey.OFFSET_COMMIT:
                assert error_of(answer) == ErrorCode.NONE
            elif key == ApiKey.HEARTBEAT:
                assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert committed(node) == 49


async def test_a_commit_is_carried_out_for_a_client_that_is_gone() -> None:
    async with running_node(ALONE) as node, wire(node) as client:
        await coordinated(client)
        gone = await Wire.connect(node.advertised)
        gone.writer.write(gone.frame(ApiKey.OFFSET_COMMIT, 8, commit(7)))
        await gone.close()
        await wait_until(lambda: committed(node) == 7)
        assert not error_of(await client.ask(ApiKey.OFFSET_COMMIT, 8, commit(8)))


async def test_an_answer_that_cannot_be_sent_closes_its_connection_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_node(ALONE) as node, wire(node) as client, wire(node) as other:
        await coordinated(client)
        frame = Dispatcher.frame

        def broken(self: Dispatcher, endpoint: Any, request: Any, answer: Any) -> Any:
            if isinstance(answer, m.HeartbeatResponse):
                raise ValueError("no answer can be made of it")
            return frame(self, endpoint, request, answer)

        monkeypatch.setattr(Dispatcher, "frame", broken)
        client.writer.write(client.frame(ApiKey.HEARTBEAT, 4, heartbeat()))
        assert await client.is_closed()
        assert not error_of(await other.ask(ApiKey.OFFSET_COMMIT, 8, commit(1)))
