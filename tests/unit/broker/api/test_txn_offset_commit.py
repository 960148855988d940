"""TxnOffsetCommit: offsets that count when their transaction commits, live and after a reload."""

from __future__ import annotations

from typing import Any

import pytest

from broker.api.offset_fetch import offset_fetch
from broker.api.txn_offset_commit import txn_offset_commit
from broker.api.write_txn_markers import write_txn_markers
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.transaction_verification import Support
from tests.unit.broker.api.coordinators import Coordinator
from tests.unit.broker.api.group_requests import (
    ONE_PARTITION,
    commit,
    committed,
    coordinator_is_ready,
    delete_offsets,
)
from tests.unit.broker.api.nodes import ask, create_topic, running_node

UNVERIFIED = {**ONE_PARTITION, "transaction.partition.verification.enable": "false"}
GROUPS = "__consumer_offsets"
PID = 42


async def stage(
    node: Node, offset: int, *, pid: int = PID, epoch: int = 0, version: int = 3, **fields: Any
) -> int:
    part = m.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    body = m.TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=pid,
        producer_epoch=epoch,
        topics=[m.TxnOffsetCommitRequestTopic(name="t", partitions=[part])],
        **fields,
    )
    answer = await txn_offset_commit(node, ask(ApiKey.TXN_OFFSET_COMMIT, body, version))
    code: int = answer.topics[0].partitions[0].error_code
    return code


async def end(
    node: Node, *, commit: bool, pid: int = PID, epoch: int = 0, coordinator_epoch: int = 0
) -> int:
    marker = m.WritableTxnMarker(
        producer_id=pid,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[m.WritableTxnMarkerTopic(name=GROUPS, partition_indexes=[0])],
        coordinator_epoch=coordinator_epoch,
    )
    body = m.WriteTxnMarkersRequest(markers=[marker])
    answer = await write_txn_markers(node, ask(ApiKey.WRITE_TXN_MARKERS, body))
    code: int = answer.markers[0].topics[0].partitions[0].error_code
    return code


async def fetched(node: Node, *, stable: bool = True) -> tuple[int, int]:
    """The error and the offset of the one partition."""
    topic = m.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    body = m.OffsetFetchRequest(
        groups=[m.OffsetFetchRequestGroup(group_id="g", topics=[topic])], require_stable=stable
    )
    answer = await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, 9))
    [each] = answer.groups[0].topics[0].partitions
    return each.error_code, each.committed_offset


async def ready(node: Node) -> None:
    await create_topic(node, "t")
    await coordinator_is_ready(node)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_marker_applies_what_is_staged_or_drops_it(commits: bool) -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(UNVERIFIED, disks) as node:
        await ready(node)
        assert await commit(node, 3) == ErrorCode.NONE
        assert await stage(node, 7) == ErrorCode.NONE
        assert await fetched(node) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        assert await fetched(node, stable=False) == (ErrorCode.NONE, 3)
        assert await end(node, commit=commits) == ErrorCode.NONE
        assert await fetched(node) == (ErrorCode.NONE, 7 if commits else 3)
    async with running_node(UNVERIFIED, disks) as node:
        await coordinator_is_ready(node)
        assert await fetched(node) == (ErrorCode.NONE, 7 if commits else 3)


async def test_what_is_staged_is_loaded_as_staged() -> None:
    disks = {"data": MemoryDisk()}
    async with running_node(UNVERIFIED, disks) as node:
        await ready(node)
        assert await stage(node, 7) == ErrorCode.NONE
    async with running_node(UNVERIFIED, disks) as node:
        await coordinator_is_ready(node)
        assert await fetched(node) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        assert await end(node, commit=True) == ErrorCode.NONE
        assert await fetched(node) == (ErrorCode.NONE, 7)


async def test_the_later_record_of_a_partition_counts_live_and_loaded() -> None:
    """G08: a plain commit between the staged one and its marker."""
    disks = {"data": MemoryDisk()}
    async with running_node(UNVERIFIED, disks) as node:
        await ready(node)
        await stage(node, 5)
        await stage(node, 6, pid=43)
        await commit(node, 9)
        await stage(node, 7, pid=44)
        await end(node, commit=True, pid=44)
        await end(node, commit=True, pid=43)
        await end(node, commit=True)
        assert await fetched(node) == (ErrorCode.NONE, 7)
    async with running_node(UNVERIFIED, disks) as node:
        await coordinator_is_ready(node)
        assert await fetched(node) == (ErrorCode.NONE, 7)


async def test_a_deleted_offset_is_not_brought_back_by_a_marker() -> None:
    async with running_node(UNVERIFIED) as node:
        await ready(node)
        await stage(node, 7)
        assert await delete_offsets(node, "g", "t", 0) == {0: ErrorCode.NONE}
        await end(node, commit=True)
        assert await committed(node) == {}


async def test_an_earlier_epoch_is_fenced() -> None:
    async with running_node(UNVERIFIED) as node:
        await ready(node)
        assert await stage(node, 7, epoch=3) == ErrorCode.NONE
        assert await stage(node, 8, epoch=2) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert await end(node, commit=True, epoch=2) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert await end(node, commit=True, epoch=3, coordinator_epoch=5) == ErrorCode.NONE
        code = await end(node, commit=True, epoch=3, coordinator_epoch=4)
        assert code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert await fetched(node) == (ErrorCode.NONE, 7)


async def test_offsets_of_no_producer_are_refused_without_verification_too() -> None:
    async with running_node(UNVERIFIED) as node:
        await ready(node)
        assert await stage(node, 5, pid=-1, epoch=-1) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
        assert await fetched(node) == (ErrorCode.NONE, -1)


async def test_a_generation_needs_its_group() -> None:
    async with running_node(UNVERIFIED) as node:
        await ready(node)
        member: dict[str, Any] = {"generation_id": 3, "member_id": "x"}
        assert await stage(node, 7, **member) == ErrorCode.ILLEGAL_GENERATION
        assert await commit(node, 3) == ErrorCode.NONE
        assert await stage(node, 7, **member) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_first_commit_of_a_transaction_is_verified() -> None:
    async with running_node(ONE_PARTITION) as node:
        await ready(node)
        coordinator = Coordinator(node, ErrorCode.NONE)
        assert await stage(node, 7) == ErrorCode.NONE
        assert await stage(node, 8) == ErrorCode.NONE
        assert coordinator.asked == [([(GROUPS, 0)], Support.CLASSIC)]
        await end(node, commit=True)
        assert await stage(node, 9, epoch=1, version=5) == ErrorCode.NONE
        assert coordinator.asked[1:] == [([(GROUPS, 0)], Support.ADDS)]


async def test_what_the_coordinator_does_not_know_is_refused() -> None:
    async with running_node(ONE_PARTITION) as node:
        await ready(node)
        Coordinator(node, ErrorCode.INVALID_TXN_STATE)
        assert await stage(node, 7) == ErrorCode.INVALID_TXN_STATE
        Coordinator(node, ErrorCode.NETWORK_EXCEPTION)
        assert await stage(node, 7) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert await fetched(node) == (ErrorCode.NONE, -1)


async def test_a_marker_that_comes_during_the_verification_ends_the_transaction() -> None:
    async with running_node(ONE_PARTITION) as node:
        await ready(node)

        async def abort() -> None:
            assert await end(node, commit=False) == ErrorCode.NONE

        Coordinator(node, ErrorCode.NONE, abort)
        assert await stage(node, 7) == ErrorCode.INVALID_TXN_STATE
        assert await fetched(node) == (ErrorCode.NONE, -1)
