"""WriteTxnMarkers: the end of a transaction in the partitions of a broker."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from typing import Any

from broker.api.fetch import fetch
from broker.api.write_txn_markers import write_txn_markers
from broker.log.record_check import WorkBudget
from broker.node import Node
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from tests.unit.broker.api.nodes import ask, create_topic, running_node

PRODUCER = 42


def partition_of(node: Node, topic: str = "t") -> Partition:
    found = node.partitions.find(topic, 0)
    assert found is not None
    return found


def write(node: Node, *, epoch: int = 0, sequence: int = 0, producer_id: int = PRODUCER) -> int:
    """One transactional record; gives its offset."""
    batch = build_batch(
        [Record(0, 1_700_000_000_000, b"k", b"v")],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL,
    )
    appended = partition_of(node).append_at_once(memoryview(batch), WorkBudget())
    assert appended is not None
    return appended.base_offset


def marker(
    *,
    epoch: int = 0,
    committed: bool = True,
    coordinator_epoch: int = 3,
    version: int = 1,
    partitions: tuple[int, ...] = (0,),
    topic: str = "t",
) -> m.WritableTxnMarker:
    return m.WritableTxnMarker(
        producer_id=PRODUCER,
        producer_epoch=epoch,
        transaction_result=committed,
        topics=[m.WritableTxnMarkerTopic(name=topic, partition_indexes=list(partitions))],
        coordinator_epoch=coordinator_epoch,
        transaction_version=version,
    )


async def end(node: Node, *markers: m.WritableTxnMarker) -> list[int]:
    """The error codes, partition by partition."""
    body = m.WriteTxnMarkersRequest(markers=list(markers))
    answer = await write_txn_markers(node, ask(ApiKey.WRITE_TXN_MARKERS, body))
    return [
        partition.error_code
        for each in answer.markers
        for topic in each.topics
        for partition in topic.partitions
    ]


async def test_a_marker_ends_the_transaction_and_releases_its_readers() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert write(node) == 0
        log = partition_of(node).log
        assert log.last_stable_offset == 0
        assert await end(node, marker(committed=False)) == [ErrorCode.NONE]
        assert (log.end_offset, log.last_stable_offset) == (2, 2)
        assert [entry[:3] for entry in log.active.aborted.entries] == [(PRODUCER, 0, 1)]


async def test_each_partition_has_an_answer_of_its_own() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        missing = marker(topic="gone")
        assert await end(node, marker(partitions=(0, 7)), missing) == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]


async def test_a_marker_of_no_producer_is_not_written() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        for producer_id, epoch in ((-1, -1), (-1, 0), (-2, 0), (PRODUCER, -1), (PRODUCER, -2)):
            forged = marker(epoch=epoch)
            forged.producer_id = producer_id
            assert ErrorCode.NONE not in await end(node, forged)
        assert partition_of(node).log.end_offset == 0


async def test_an_earlier_coordinator_is_fenced() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert await end(node, marker(coordinator_epoch=3)) == [ErrorCode.NONE]
        write(node)
        assert await end(node, marker(coordinator_epoch=2)) == [
            ErrorCode.TRANSACTION_COORDINATOR_FENCED
        ]
        assert partition_of(node).log.last_stable_offset == 1


async def test_an_earlier_epoch_of_the_producer_is_fenced() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        write(node, epoch=5)
        assert await end(node, marker(epoch=4)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
        assert partition_of(node).log.last_stable_offset == 0


async def test_a_repeated_marker_of_version_2_is_written_once() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        write(node, epoch=0)
        ended = marker(epoch=1, version=2)
        assert await end(node, ended) == [ErrorCode.NONE]
        assert await end(node, ended) == [ErrorCode.NONE]
        assert partition_of(node).log.end_offset == 2


async def test_a_late_marker_of_version_2_does_not_end_the_next_transaction() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        write(node, epoch=0)
        ended = marker(epoch=1, version=2, committed=False)
        assert await end(node, ended) == [ErrorCode.NONE]
        write(node, epoch=1)
        assert await end(node, ended) == [ErrorCode.INVALID_PRODUCER_EPOCH]
        assert partition_of(node).log.last_stable_offset == 2


async def test_a_partition_that_is_led_elsewhere_is_not_answered_as_done() -> None:
    """T05: the coordinator has to find the new leader, or the transaction stays open there."""
    async with running_node() as node:
        await create_topic(node, "t")
        write(node)
        partition_of(node).retire()
        assert await end(node, marker()) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert partition_of(node).log.end_offset == 1


async def test_a_fetch_that_waited_for_the_end_of_a_transaction_knows_that_it_was_aborted() -> None:
    """T07: a list of aborted transactions that is only filled at once misses this one."""
    async with running_node() as node:
        await create_topic(node, "t")
        write(node)
        asked = m.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        body = m.FetchRequest(
            replica_id=-1,
            max_wait_ms=10_000,
            min_bytes=1,
            isolation_level=1,
            topics=[m.FetchTopic(topic="t", partitions=[asked])],
        )

        async def read() -> m.FetchResponsePartitionData:
            answer: Any = fetch(node, ask(ApiKey.FETCH, body, 12))
            if inspect.isawaitable(answer):
                answer = await answer
            part: m.FetchResponsePartitionData = answer.responses[0].partitions[0]
            return part

        waiting = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert await end(node, marker(committed=False)) == [ErrorCode.NONE]
        part = await waiting
        assert part.aborted_transactions == [
            m.AbortedTransaction(producer_id=PRODUCER, first_offset=0)
        ]
        assert part.last_stable_offset == 2


async def test_a_new_leader_knows_the_open_transaction_before_it_serves_anybody() -> None:
    """T08: the stable offset never falls back to the high watermark, nor goes back."""
    async with running_node() as node:
        await create_topic(node, "t")
        write(node)
        partition = partition_of(node)
        info = partition.info
        assert info is not None
        later = info.leader_epoch + 1
        for leader in (2, node.node_id):
            info = replace(info, leader=leader, leader_epoch=later, partition_epoch=later)
            later += 1
            await partition.become(info)
            assert partition.log.last_stable_offset == 0
        assert await end(node, marker()) == [ErrorCode.NONE]
        assert partition.log.last_stable_offset == 2
