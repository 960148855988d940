"""OffsetCommit, OffsetFetch and OffsetDelete of consumers that assign partitions to themselves."""

from __future__ import annotations

import asyncio
from typing import Any

from broker.api.offset_commit import offset_commit
from broker.api.offset_fetch import offset_fetch
from broker.api.portions import PORTION
from broker.disk.memory import MemoryDisk
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    committed,
    coordinator_is_ready,
    delete_offsets,
    fetch,
)
from tests.unit.broker.api.nodes import ask, create_topic, running_node


async def test_what_was_committed_is_fetched_also_after_a_restart() -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(ONE_PARTITION, disks) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5) == ErrorCode.NONE
        assert await commit(node, 7) == ErrorCode.NONE
    async with running_node(ONE_PARTITION, disks) as node:
        await coordinator_is_ready(node)
        assert await committed(node) == {("t", 0): 7}


async def test_many_commits_of_one_turn_are_one_append() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        codes = await asyncio.gather(*(commit(node, each) for each in range(100)))
        assert set(codes) == {0}
        partition = node.partitions.find("__consumer_offsets", 0)
        assert partition is not None
        assert partition.log.end_offset == 100
        assert partition.log.active.header_at(0).record_count == 100
        assert await committed(node) == {("t", 0): 99}


async def test_a_commit_of_a_generation_needs_a_group() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        member: dict[str, Any] = {"generation_id_or_member_epoch": 3, "member_id": "x"}
        assert await commit(node, 5, version=8, **member) == ErrorCode.ILLEGAL_GENERATION
        assert await commit(node, 5, version=9, **member) == ErrorCode.GROUP_ID_NOT_FOUND
        assert await commit(node, 5, member_id="x") == ErrorCode.NONE
        assert await commit(node, 5, version=9, **member) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_partitions_that_do_not_exist_are_told_with_those_that_do() -> None:
    async with running_node(ONE_PARTITION) as node:
        topic_id = await create_topic(node, "t")
        await coordinator_is_ready(node)
        parts = [m.OffsetCommitRequestPartition(partition_index=each) for each in (0, 7)]
        for version, of_topics in (
            (9, [("t", bytes(16)), ("u", bytes(16))]),
            (10, [("", topic_id), ("", b"?" * 16)]),
        ):
            body = m.OffsetCommitRequest(
                group_id="g",
                topics=[
                    m.OffsetCommitRequestTopic(name=name, topic_id=each, partitions=list(parts))
                    for name, each in of_topics
                ],
            )
            answer = await offset_commit(node, ask(ApiKey.OFFSET_COMMIT, body, version))
            known, unknown = answer.topics
            told = [(each.partition_index, each.error_code) for each in known.partitions]
            assert told == [(0, ErrorCode.NONE), (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
            expected = (
                ErrorCode.UNKNOWN_TOPIC_ID
                if version == 10
                else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            assert {each.error_code for each in unknown.partitions} == {expected}


async def test_the_limit_of_metadata_counts_characters() -> None:
    async with running_node({**ONE_PARTITION, "offset.metadata.max.bytes": "4"}) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        for text, code in (("éééé", 0), ("12345", 12), ("\U0001f600\U0001f600", 0), (None, 0)):
            part = m.OffsetCommitRequestPartition(partition_index=0, committed_metadata=text)
            topic = m.OffsetCommitRequestTopic(name="t", partitions=[part])
            body = m.OffsetCommitRequest(group_id="g", topics=[topic])
            answer = await offset_commit(node, ask(ApiKey.OFFSET_COMMIT, body, 9))
            assert answer.topics[0].partitions[0].error_code == code
        [told] = (await fetch(node)).topics
        assert told.partitions[0].metadata == ""


async def test_several_groups_are_fetched_at_once_by_topic_ids() -> None:
    async with running_node() as node:  # groups of different partitions
        topic_id = await create_topic(node, "t")
        await coordinator_is_ready(node)
        await coordinator_is_ready(node, "h")
        assert await commit(node, 5, "g") == 0
        assert await commit(node, 6, "h") == 0
        asked = [
            m.OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0, 9])
            for each in (topic_id, b"?" * 16)
        ]
        body = m.OffsetFetchRequest(
            groups=[
                m.OffsetFetchRequestGroup(group_id="g", topics=asked),
                m.OffsetFetchRequestGroup(group_id="h", topics=None),
            ]
        )
        first, second = (await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, 10))).groups
        told = [[(part.committed_offset, part.error_code) for part in topic.partitions]
                for topic in first.topics]  # fmt: skip
        gone = (-1, ErrorCode.UNKNOWN_TOPIC_ID)
        assert told == [[(5, 0), (-1, 0)], [gone, gone]]
        assert [topic.topic_id for topic in second.topics] == [topic_id]


async def test_more_groups_than_are_asked_at_once_are_answered_in_their_order() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5, "g1") == 0
        assert await commit(node, 6, f"g{2 * PORTION}") == 0
        names = [f"g{each}" for each in range(2 * PORTION + 1)]
        topic = m.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
        body = m.OffsetFetchRequest(
            groups=[m.OffsetFetchRequestGroup(group_id=each, topics=[topic]) for each in names]
        )
        groups = (await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, 9))).groups
        assert [each.group_id for each in groups] == names
        offsets = {each.group_id: each.topics[0].partitions[0].committed_offset for each in groups}
        assert {name: each for name, each in offsets.items() if each >= 0} == {
            "g1": 5,
            f"g{2 * PORTION}": 6,
        }


async def test_the_form_of_one_group_names_all_its_topics_if_none_is_named() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5) == 0
        body = m.OffsetFetchRequest(group_id="g", topics=None)
        answer = await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, 7))
        [topic] = answer.topics
        [part] = topic.partitions
        assert (topic.name, part.partition_index, part.committed_offset) == ("t", 0, 5)


async def test_who_coordinates_nothing_says_so_in_every_form() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        topic = m.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
        for version in range(1, 8):
            body = m.OffsetFetchRequest(group_id="g", topics=[topic])
            answer = await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, version))
            if version == 1:
                [part] = answer.topics[0].partitions
                assert part.error_code == ErrorCode.NOT_COORDINATOR
            else:
                assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])
        assert (await fetch(node)).error_code == ErrorCode.NOT_COORDINATOR
        assert await commit(node, 1) == ErrorCode.NOT_COORDINATOR


async def test_offsets_are_deleted_one_by_one() -> None:
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t", 2)
        await coordinator_is_ready(node)
        assert await delete_offsets(node, "g", "t", 0) == ErrorCode.GROUP_ID_NOT_FOUND
        assert await delete_offsets(node, "", "t", 0) == ErrorCode.INVALID_GROUP_ID
        assert await commit(node, 5) == 0
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await delete_offsets(node, "g", "u", 0) == {0: unknown}
        assert await delete_offsets(node, "g", "t", 0, 1, 2) == {0: 0, 1: 0, 2: unknown}
        assert await committed(node) == {}
        assert await delete_offsets(node, "g", "t", 0) == {0: 0}  # the group is still there


async def test_a_coordinator_that_may_have_been_replaced_proves_that_it_leads() -> None:
    """It was stopped for longer than its session, say: another one may have taken commits since."""
    async with running_node(ONE_PARTITION) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        assert await commit(node, 5) == ErrorCode.NONE
        partition = node.partitions.find("__consumer_offsets", 0)
        assert partition is not None
        assert partition.leader is not None
        membership = node.role.membership
        assert await committed(node) == {("t", 0): 5}
        assert partition.log.end_offset == 1, "within its session it needs no proof"
        membership._session_begins_s = asyncio.get_running_loop().time()
        assert await committed(node) == {("t", 0): 5}
        assert partition.log.end_offset == 2
        assert await committed(node) == {("t", 0): 5}
        assert partition.log.end_offset == 2, "one proof lasts for the session"
        membership._session_begins_s = asyncio.get_running_loop().time()
        partition.leader.is_under_min_isr = True
        assert (await fetch(node)).error_code == ErrorCode.NOT_COORDINATOR
