"""ConsumerGroupHeartbeat and ConsumerGroupDescribe of a whole node on a memory disk."""

from __future__ import annotations

from typing import Any

from broker.api.consumer_group_describe import consumer_group_describe
from broker.api.consumer_group_heartbeat import consumer_group_heartbeat
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    committed,
    coordinator_is_ready,
)
from tests.unit.broker.api.nodes import ask, create_topic, running_node

AT_ONCE = {**ONE_PARTITION, "group.consumer.assignment.interval.ms": "0"}
"""Every epoch of a group gets its target at once."""
ALL_GROUP_OPERATIONS = 3400


async def beat(
    node: Node, member: str, epoch: int, version: int = 1, **fields: Any
) -> m.ConsumerGroupHeartbeatResponse:
    body = m.ConsumerGroupHeartbeatRequest(
        **{"group_id": "g", "member_id": member, "member_epoch": epoch, **fields}
    )
    return await consumer_group_heartbeat(node, ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, body, version))


async def join(node: Node, member: str, *topics: str) -> m.ConsumerGroupHeartbeatResponse:
    return await beat(
        node,
        member,
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )


async def describe(
    node: Node, *groups: str, operations: bool = False
) -> list[m.ConsumerGroupDescribeResponseDescribedGroup]:
    body = m.ConsumerGroupDescribeRequest(
        group_ids=list(groups), include_authorized_operations=operations
    )
    request = ask(ApiKey.CONSUMER_GROUP_DESCRIBE, body, 1)
    return (await consumer_group_describe(node, request)).groups


def partitions(response: m.ConsumerGroupHeartbeatResponse) -> list[int]:
    assert response.assignment is not None
    return [number for topic in response.assignment.topic_partitions for number in topic.partitions]


async def test_a_member_joins_commits_and_is_found_again_after_a_restart() -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(AT_ONCE, disks) as node:
        await create_topic(node, "t", 2)
        await coordinator_is_ready(node)
        joined = await join(node, "m", "t")
        assert (joined.error_code, joined.member_epoch, partitions(joined)) == (0, 2, [0, 1])
        stale: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 1}
        assert await commit(node, 4, **stale) == ErrorCode.STALE_MEMBER_EPOCH
        current: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 2}
        assert await commit(node, 5, **current) == ErrorCode.NONE
        assert await commit(node, 6, version=8, **current) == ErrorCode.UNSUPPORTED_VERSION
        assert await commit(node, 7) == ErrorCode.UNKNOWN_MEMBER_ID
    async with running_node(AT_ONCE, disks) as node:
        await coordinator_is_ready(node)
        stays = await beat(node, "m", 2)
        assert (stays.error_code, stays.member_epoch) == (0, 2)
        assert await committed(node) == {("t", 0): 5}


async def test_a_topic_that_appears_is_assigned() -> None:
    async with running_node(AT_ONCE) as node:
        await coordinator_is_ready(node)
        assert (await join(node, "m", "later")).member_epoch == 2
        await create_topic(node, "later", 1)
        stays = await beat(node, "m", 2)
        assert (stays.member_epoch, partitions(stays)) == (3, [0])


async def test_a_wrong_request_is_answered_without_a_coordinator() -> None:
    async with running_node() as node:
        wrong = await beat(node, "", 0)
        assert wrong.error_code == ErrorCode.INVALID_REQUEST
        assert (wrong.error_message, wrong.member_id) == ("MemberId can't be empty.", None)
        early = await join(node, "m", "t")
        assert early.error_code == ErrorCode.NOT_COORDINATOR


async def test_version_0_gets_a_member_id_of_its_own() -> None:
    async with running_node(AT_ONCE) as node:
        await coordinator_is_ready(node)
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": 1,
            "subscribed_topic_names": [],
            "topic_partitions": [],
        }
        first = await beat(node, "", 0, version=0, **fields)
        second = await beat(node, "", 0, version=0, **fields)
        assert first.member_id
        assert first.member_id != second.member_id


async def test_groups_are_described() -> None:
    async with running_node(AT_ONCE) as node:
        await create_topic(node, "t", 1)
        await coordinator_is_ready(node)
        await join(node, "m", "t")
        known, unknown, empty = await describe(node, "g", "other", "", operations=True)
        assert (known.group_state, known.group_epoch, known.assignment_epoch) == ("Stable", 2, 2)
        assert (known.assignor_name, known.authorized_operations) == (
            "uniform",
            ALL_GROUP_OPERATIONS,
        )
        [member] = known.members
        assert (member.member_id, member.member_epoch, member.member_type) == ("m", 2, 1)
        assert (member.client_host, member.subscribed_topic_names) == ("/127.0.0.1", ["t"])
        [assigned] = member.assignment.topic_partitions
        assert (assigned.topic_name, assigned.partitions) == ("t", [0])
        assert member.target_assignment == member.assignment
        assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert unknown.authorized_operations == -(2**31)
        assert empty.error_code == ErrorCode.INVALID_GROUP_ID
