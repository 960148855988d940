"""Transactional produce: a batch that would open a transaction is verified first (KIP-890)."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from broker.api.produce import produce
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from broker.transaction_verification import Support
from tests.nodes import wait_until
from tests.unit.broker.api.coordinators import Coordinator
from tests.unit.broker.api.nodes import ask, create_topic, running_node
from tests.unit.broker.api.test_write_txn_markers import end, marker, partition_of

PID = 42
CLASSIC, ABORTABLE, ADDS = 10, 11, 12


async def send(
    node: Node,
    sequence: int = 0,
    *,
    epoch: int = 0,
    version: int = CLASSIC,
    transactional_id: str | None = "x",
    partitions: tuple[int, ...] = (0,),
) -> list[tuple[int, int]]:
    """The error and the base offset of each partition."""
    batch = build_batch(
        [Record(0, 1_700_000_000_000, b"k", b"v")],
        producer_id=PID,
        producer_epoch=epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL,
    )
    body = m.ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=5000,
        topic_data=[
            m.TopicProduceData(
                name="t",
                partition_data=[
                    m.PartitionProduceData(index=index, records=memoryview(bytearray(batch)))
                    for index in partitions
                ],
            )
        ],
    )
    answer: Any = produce(node, ask(ApiKey.PRODUCE, body, version))
    if inspect.isawaitable(answer):
        answer = await answer
    return [(each.error_code, each.base_offset) for each in answer.responses[0].partition_responses]


async def test_a_transaction_is_verified_once_and_for_all_its_partitions() -> None:
    async with running_node() as node:
        await create_topic(node, "t", 2)
        coordinator = Coordinator(node, ErrorCode.NONE)
        assert await send(node, partitions=(0, 1)) == [(0, 0), (0, 0)]
        assert await send(node, 1, partitions=(0, 1)) == [(0, 1), (0, 1)]
        assert coordinator.asked == [([("t", 0), ("t", 1)], Support.CLASSIC)]
        assert await end(node, marker(partitions=(0, 1))) == [0, 0]
        assert await send(node, 2) == [(0, 3)]
        assert len(coordinator.asked) == 2


async def test_a_retry_is_answered_without_a_question() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        coordinator = Coordinator(node, ErrorCode.NONE)
        assert await send(node) == [(0, 0)]
        assert await end(node, marker()) == [0]
        assert await send(node) == [(0, 0)]
        assert len(coordinator.asked) == 1
        assert partition_of(node).log.last_stable_offset == 2


@pytest.mark.parametrize(
    ("answered", "version", "expected"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ADDS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NETWORK_EXCEPTION, CLASSIC, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, CLASSIC, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ADDS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ADDS, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
async def test_a_batch_that_is_not_verified_is_not_written(
    answered: ErrorCode, version: int, expected: ErrorCode
) -> None:
    """T02: else the transaction would stay open, because its coordinator has ended it."""
    async with running_node() as node:
        await create_topic(node, "t")
        Coordinator(node, answered)
        assert await send(node, version=version) == [(expected, -1)]
        assert partition_of(node).log.end_offset == 0


@pytest.mark.parametrize(
    ("version", "expected"),
    [(CLASSIC, ErrorCode.INVALID_TXN_STATE), (ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE)],
)
async def test_a_marker_that_overtakes_the_verification_wins(
    version: int, expected: ErrorCode
) -> None:
    """T02, with the abort between the coordinator's word and the append."""
    async with running_node() as node:
        await create_topic(node, "t")

        async def abort() -> None:
            assert await end(node, marker(committed=False)) == [0]

        Coordinator(node, ErrorCode.NONE, abort)
        assert await send(node, version=version) == [(expected, -1)]
        log = partition_of(node).log
        assert (log.end_offset, log.last_stable_offset) == (1, 1)


@pytest.mark.parametrize(
    ("of_marker", "expected"), [(1, (0, 1)), (2, (ErrorCode.TRANSACTION_ABORTABLE, -1))]
)
async def test_a_marker_of_the_transaction_before_ends_nothing_under_version_2(
    of_marker: int, expected: tuple[int, int]
) -> None:
    """The coordinator acknowledges a commit before its markers are written, and each transaction
    has its own epoch, which the marker before it bears already."""
    async with running_node() as node:
        await create_topic(node, "t")

        async def commit() -> None:
            assert await end(node, marker(epoch=of_marker)) == [0]

        Coordinator(node, ErrorCode.NONE, commit)
        assert await send(node, epoch=1, version=ADDS) == [expected]


async def test_a_verification_of_the_transaction_before_does_not_count() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        first, second = asyncio.Event(), asyncio.Event()

        async def wait_in_turn() -> None:
            await (first if len(coordinator.asked) == 1 else second).wait()

        coordinator = Coordinator(node, ErrorCode.NONE, wait_in_turn)
        late = asyncio.create_task(send(node, 0))
        await wait_until(lambda: len(coordinator.asked) == 1)
        assert await end(node, marker(committed=False)) == [0]
        new = asyncio.create_task(send(node, 0))
        await wait_until(lambda: len(coordinator.asked) == 2)
        first.set()
        assert await late == [(ErrorCode.INVALID_TXN_STATE, -1)]
        second.set()
        assert await new == [(0, 1)]


async def test_a_batch_does_not_overtake_one_that_was_not_verified() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        Coordinator(node, ErrorCode.NETWORK_EXCEPTION)
        assert await send(node, 0) == [(ErrorCode.NOT_ENOUGH_REPLICAS, -1)]
        Coordinator(node, ErrorCode.NONE)
        assert await send(node, 1) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
        assert await send(node, 0) == [(0, 0)]
        assert await send(node, 1) == [(0, 1)]


async def test_the_first_batch_of_an_epoch_has_sequence_0_under_version_2() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        coordinator = Coordinator(node, ErrorCode.NONE)
        refused = [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
        assert await send(node, 5, version=ADDS) == refused
        assert await send(node, 0, version=ADDS) == [(0, 0)]
        assert coordinator.asked[0][1] is Support.ADDS


async def test_a_transactional_batch_needs_a_transactional_id() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        answer = await send(node, transactional_id=None)
        assert answer == [(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)]


async def test_without_verification_nobody_is_asked() -> None:
    off = {"transaction.partition.verification.enable": "false"}
    async with running_node(off) as node:
        await create_topic(node, "t")
        assert await send(node) == [(0, 0)]
        assert await send(node, epoch=1, version=ADDS) == [(ErrorCode.NOT_ENOUGH_REPLICAS, -1)]
