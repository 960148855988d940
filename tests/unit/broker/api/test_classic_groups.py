"""Classic groups through the handlers of a whole node: what depends on versions, and waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.api.heartbeat import heartbeat
from broker.api.join_group import join_group
from broker.api.leave_group import leave_group
from broker.api.sync_group import sync_group
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    coordinator_is_ready,
    described,
    listed,
)
from tests.unit.broker.api.nodes import ask, create_topic, running_node
from tests.virtual_time import in_virtual_time

NO_DELAY = {**ONE_PARTITION, "group.initial.rebalance.delay.ms": "0"}


async def join(
    node: Node, member_id: str = "", version: int = 9, **fields: Any
) -> m.JoinGroupResponse:
    body = m.JoinGroupRequest(
        **{
            "group_id": "g",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [m.JoinGroupRequestProtocol(name="range", metadata=b"")],
            **fields,
        }
    )
    return await join_group(node, ask(ApiKey.JOIN_GROUP, body, version))


async def sync(
    node: Node, member_id: str, generation: int, version: int = 4, **fields: Any
) -> m.SyncGroupResponse:
    given = [m.SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")]
    body = m.SyncGroupRequest(
        **{
            "group_id": "g",
            "generation_id": generation,
            "member_id": member_id,
            "assignments": given,
            **fields,
        }
    )
    return await sync_group(node, ask(ApiKey.SYNC_GROUP, body, version))


async def beat(node: Node, member_id: str, generation: int, group: str = "g") -> int:
    body = m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)
    return (await heartbeat(node, ask(ApiKey.HEARTBEAT, body))).error_code


async def leave(node: Node, member_id: str, version: int, group: str = "g") -> m.LeaveGroupResponse:
    body = m.LeaveGroupRequest(
        group_id=group, member_id=member_id, members=[m.MemberIdentity(member_id=member_id)]
    )
    return await leave_group(node, ask(ApiKey.LEAVE_GROUP, body, version))


async def test_no_group_is_without_a_name() -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        joined = await join(node, "who", group_id="")
        assert (joined.error_code, joined.member_id) == (ErrorCode.INVALID_GROUP_ID, "who")
        assert (await sync(node, "who", 1, group_id="")).error_code == ErrorCode.INVALID_GROUP_ID
        assert await beat(node, "who", 1, group="") == ErrorCode.INVALID_GROUP_ID
        assert (await leave(node, "who", 5, group="")).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("timeout_ms", [-1, 0, 5_999, 1_800_001])
async def test_a_session_has_bounds(timeout_ms: int) -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        joined = await join(node, session_timeout_ms=timeout_ms)
        assert joined.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
        assert await listed(node, [], []) == []


@pytest.mark.parametrize(("version", "name"), [(0, ""), (6, ""), (7, None), (9, None)])
async def test_a_refusal_has_no_protocol_in_the_words_of_its_version(
    version: int, name: str | None
) -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        joined = await join(node, "who", version)
        assert (joined.error_code, joined.protocol_name) == (ErrorCode.UNKNOWN_MEMBER_ID, name)
        assert (joined.generation_id, joined.leader, joined.member_id) == (-1, "", "who")


async def test_a_session_is_the_rebalance_timeout_of_the_first_version() -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        joined = await join(node, version=0)
        assert joined.error_code == ErrorCode.NONE
        shard = node.groups.shards.find(0)
        assert shard is not None
        group: Any = shard.machine.groups["g"]
        assert [each.rebalance_timeout_ms for each in group.members] == [10_000]


async def test_a_member_is_named_after_its_client_or_its_instance() -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        required = await join(node)
        assert required.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert required.member_id.startswith("test-")
        assert len(required.member_id) == len("test-") + 36
        joined = await join(node, group_id="h", group_instance_id="i")
        assert joined.error_code == ErrorCode.NONE
        assert joined.member_id.startswith("i-")


@pytest.mark.parametrize("version", [4, 5])
async def test_the_protocol_is_said_from_version_5_on(version: int) -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        joined = await join(node, version=3)
        synced = await sync(node, joined.member_id, 1, version)
        if version == 4:
            assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"all")
            return
        assert synced.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        said = {"protocol_type": "consumer", "protocol_name": "range"}
        synced = await sync(node, joined.member_id, 1, version, **said)
        assert (synced.error_code, synced.protocol_name) == (ErrorCode.NONE, "range")


async def test_one_member_leaves_before_version_3_and_several_afterwards() -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        assert (await leave(node, "who", 2)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        left = await leave(node, "who", 3)
        assert left.error_code == ErrorCode.NONE
        assert [each.error_code for each in left.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
        joined = await join(node, version=3)
        assert (await leave(node, joined.member_id, 2)).error_code == ErrorCode.NONE
        assert (await leave(node, joined.member_id, 1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_very_many_members_leave_in_slices_that_are_answered_as_one() -> None:
    async with running_node(NO_DELAY) as node:
        await coordinator_is_ready(node)
        joined = await join(node, version=3)
        ids = [f"nobody-{number}" for number in range(1200)]
        ids[1100] = joined.member_id
        body = m.LeaveGroupRequest(
            group_id="g", members=[m.MemberIdentity(member_id=each) for each in ids]
        )
        left = await leave_group(node, ask(ApiKey.LEAVE_GROUP, body))
        assert [each.member_id for each in left.members] == ids
        assert [each.member_id for each in left.members if not each.error_code] == [ids[1100]]
        assert [state for _, state, _ in await listed(node, [], [])] == ["Empty"]


async def test_a_member_is_known_after_a_restart_of_its_coordinator() -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(NO_DELAY, disks) as node:
        await create_topic(node, "t")
        await coordinator_is_ready(node)
        joined = await join(node, version=3)
        assert (await sync(node, joined.member_id, 1)).assignment == b"all"
    async with running_node(NO_DELAY, disks) as node:
        await coordinator_is_ready(node)
        assert await beat(node, joined.member_id, 1) == ErrorCode.NONE
        member: Any = {"member_id": joined.member_id, "generation_id_or_member_epoch": 1}
        assert await commit(node, 5, **member) == ErrorCode.NONE
        group = await described(node, "g", 6)
        assert (group.group_state, group.members[0].member_assignment) == ("Stable", b"all")
        assert group.members[0].client_host == "/127.0.0.1"


async def test_requests_that_wait_are_sent_away_when_the_coordinator_stops() -> None:
    async with running_node(ONE_PARTITION) as node:
        await coordinator_is_ready(node)
        waiting = asyncio.ensure_future(join(node, version=3))
        while not await listed(node, ["PreparingRebalance"], []):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR


async def test_a_heartbeat_is_fine_while_the_coordinator_loads() -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(NO_DELAY, disks) as node:
        await coordinator_is_ready(node)
    async with running_node(NO_DELAY, disks) as node:
        shard = node.groups.shards.find(0)
        assert shard is not None
        from broker.coordination.shard import ShardState

        state, shard.state = shard.state, ShardState.LOADING
        assert await beat(node, "who", 1) == ErrorCode.NONE
        assert (await join(node)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        shard.state = state


@in_virtual_time
async def test_time_passes_for_members_that_are_silent() -> None:
    async with running_node(ONE_PARTITION) as node:
        await coordinator_is_ready(node)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        joined = await join(node, version=3)
        assert loop.time() - begun == pytest.approx(3.0)  # group.initial.rebalance.delay.ms
        assert (await sync(node, joined.member_id, 1)).assignment == b"all"
        await asyncio.sleep(9.9)
        assert await beat(node, joined.member_id, 1) == ErrorCode.NONE
        await asyncio.sleep(9.9)
        assert [state for _, state, _ in await listed(node, [], [])] == ["Stable"]
        await asyncio.sleep(0.2)
        assert [state for _, state, _ in await listed(node, [], [])] == ["Empty"]
        assert await beat(node, joined.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID
