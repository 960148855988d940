"""OffsetCommit and OffsetFetch of consumers that assign partitions to themselves."""

from __future__ import annotations

import asyncio
from typing import Any

from broker.api.find_coordinator import find_coordinator
from broker.api.offset_commit import offset_commit
from broker.api.offset_fetch import offset_fetch
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node

ONE_PARTITION = {"offsets.topic.num.partitions": "1"}


async def coordinator_is_ready(node: Node, group: str = "g") -> None:
    body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    answer: Any = find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body))
    found = await answer if asyncio.iscoroutine(answer) else answer
    assert (found.coordinators[0].error_code, found.coordinators[0].node_id) == (0, 1)
    async with asyncio.timeout(10):
        while (await fetch(node, group)).error_code:  # noqa: ASYNC110 - the client asks again
            await asyncio.sleep(0.001)


async def commit(node: Node, offset: int, group: str = "g", topic: str = "t", **fields: Any) -> int:
    part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    body = m.OffsetCommitRequest(
        group_id=group,
        topics=[m.OffsetCommitRequestTopic(name=topic, partitions=[part])],
        **fields,
    )
    answer = await offset_commit(node, ask(ApiKey.OFFSET_COMMIT, body, 9))
    code: int = answer.topics[0].partitions[0].error_code
    return code


async def fetch(node: Node, group: str = "g") -> m.OffsetFetchResponseGroup:
    body = m.OffsetFetchRequest(groups=[m.OffsetFetchRequestGroup(group_id=group, topics=None)])
    return (await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, 9))).groups[0]


async def test_what_was_committed_is_fetched_also_after_a_restart() -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(ONE_PARTITION, disks) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5) == ErrorCode.NONE
        assert await commit(node, 7) == ErrorCode.NONE
    async with running_node(ONE_PARTITION, disks) as node:
        await coordinator_is_ready(node)
        [topic] = (await fetch(node)).topics
        assert [(each.partition_index, each.committed_offset) for each in topic.partitions] == [
            (0, 7)
        ]


async def test_many_commits_of_one_turn_are_one_append() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        codes = await asyncio.gather(*(commit(node, each) for each in range(100)))
        assert set(codes) == {0}
        partition = node.partitions.find("__consumer_offsets", 0)
        assert partition is not None
        assert partition.log.end_offset == 100
        [topic] = (await fetch(node)).topics
        assert topic.partitions[0].committed_offset == 99


async def test_an_unknown_topic_has_no_offsets() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5, topic="u") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (await fetch(node)).topics == []


async def test_a_commit_of_a_generation_of_an_unknown_group_is_refused() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        code = await commit(node, 5, generation_id_or_member_epoch=3, member_id="x")
        assert code == ErrorCode.GROUP_ID_NOT_FOUND
