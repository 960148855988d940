"""What is read is what was written, from where it was asked for, or the reason why not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import CorruptBatchError
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from harness.native.client import Client
from harness.native.errors import BrokerError, DivergingEpochError, OffsetOutOfRangeError
from harness.native.produce_queue import Delivered
from harness.native.read_committed import AbortedTransaction
from harness.native.reader import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    EpochEnd,
    FetchSettings,
    OffsetFound,
)
from harness.native.records import ReadRecord, read_batches
from harness.wire.message import Message
from tests.nodes import running_node
from tests.unit.harness.native.client_worlds import ScriptedBroker, client_of, scripted

AT_ONCE = FetchSettings(max_wait_s=0.0)
NOW_MS = 1_700_000_000_000


async def fill(client: Client, *batches: list[bytes]) -> None:
    await client.admin.create_topic("t")
    producer = client.producer()
    for values in batches:
        pairs = [(b"k" + value, value) for value in values]
        stamps = [NOW_MS - at for at in range(len(values))]
        outcome = await producer.submit("t", 0, pairs, timestamps_ms=stamps)
        assert isinstance(outcome, Delivered)


async def test_records_come_with_offset_key_value_epoch_and_timestamp() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await fill(client, [b"a", b"b"], [b"c"])
        fetched = await client.reader().fetch("t", 0, 0, AT_ONCE)
        assert fetched.records == [
            ReadRecord(0, b"ka", b"a", 0, NOW_MS),
            ReadRecord(1, b"kb", b"b", 0, NOW_MS - 1),
            ReadRecord(2, b"kc", b"c", 0, NOW_MS),
        ]
        assert (fetched.next_offset, fetched.high_watermark, fetched.log_start_offset) == (3, 3, 0)


async def test_an_offset_inside_a_batch_starts_there() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await fill(client, [b"a", b"b", b"c"])
        fetched = await client.reader().fetch("t", 0, 1, AT_ONCE)
        assert [record.offset for record in fetched.records] == [1, 2]


async def test_at_the_end_a_fetch_waits_for_the_next_record() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await fill(client, [b"a"])
        waiting = asyncio.create_task(
            client.reader().fetch("t", 0, 1, FetchSettings(max_wait_s=15))
        )
        await asyncio.sleep(0.05)
        assert not waiting.done()
        # The producer has a lane of its own, so the fetch that waits does not hold it up.
        assert await client.producer().send("t", 0, b"now") == Delivered(1)
        assert [record.value for record in (await waiting).records] == [b"now"]


async def test_a_fetch_that_meets_nothing_comes_back_where_it_was() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await fill(client, [b"a"])
        fetched = await client.reader().fetch("t", 0, 1, FetchSettings(max_wait_s=0.01))
        assert (fetched.records, fetched.next_offset) == ([], 1)


async def test_an_offset_out_of_range_is_told_at_once() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await fill(client, [b"a"])
        with pytest.raises(OffsetOutOfRangeError, match=r"t-0 on node 1: .* offset 9") as caught:
            await client.reader().fetch("t", 0, 9, AT_ONCE)
        assert caught.value.offset == 9


async def test_offsets_are_listed_from_both_ends_and_by_time() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t")
        producer, reader = client.producer(), client.reader()
        for at in range(3):
            await producer.submit("t", 0, [(None, b"v")], timestamps_ms=[1_000 + at])
        assert await reader.list_offset("t", 0, EARLIEST) == OffsetFound(0, -1, 0)
        assert await reader.list_offset("t", 0, LATEST) == OffsetFound(3, -1, 0)
        assert await reader.list_offset("t", 0, 1_001) == OffsetFound(1, 1_001, 0)
        assert await reader.list_offset("t", 0, 9_999) == OffsetFound(-1, -1, -1)


async def test_the_end_of_an_epoch() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await fill(client, [b"a", b"b"])
        assert await client.reader().end_of_epoch("t", 0, 0) == EpochEnd(0, 2)


def fetch_answer(**fields: Any) -> m.FetchResponse:
    part = m.FetchResponsePartitionData(partition_index=0, **fields)
    return m.FetchResponse(responses=[m.FetchableTopicResponse(topic="t", partitions=[part])])


def one_batch(offset: int = 0, leader_epoch: int = 4) -> bytes:
    return bytes(build_batch([Record(offset, 0, b"k", b"v")], leader_epoch=leader_epoch))


async def test_both_isolation_levels_are_asked_for_and_aborted_transactions_named() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 3)
    marker = build_marker_batch(
        EndTransactionMarker(False, 0), producer_id=9, producer_epoch=0, time_ms=0
    )
    marker[0:8] = (1).to_bytes(8, "big")

    async def records(message: Message) -> m.FetchResponse:
        assert message.body.isolation_level == READ_COMMITTED
        return fetch_answer(
            records=one_batch(0) + bytes(marker),
            last_stable_offset=2,
            aborted_transactions=[m.AbortedTransaction(producer_id=9, first_offset=0)],
        )

    async def offsets(message: Message) -> m.ListOffsetsResponse:
        part = m.ListOffsetsPartitionResponse(offset=10 + message.body.isolation_level)
        return m.ListOffsetsResponse(
            topics=[m.ListOffsetsTopicResponse(name="t", partitions=[part])]
        )

    broker.script = {ApiKey.FETCH: records, ApiKey.LIST_OFFSETS: offsets}
    async with scripted(broker), client_of(broker.address) as client:
        reader = client.reader()
        assert (await reader.list_offset("t", 0, LATEST)).offset == 10
        assert (await reader.list_offset("t", 0, LATEST, isolation=READ_COMMITTED)).offset == 11
        fetched = await reader.fetch("t", 0, 0, FetchSettings(isolation=READ_COMMITTED))
        assert fetched.aborted == (AbortedTransaction(9, 0),)
        # The marker is passed over, and is no record.
        assert ([record.offset for record in fetched.records], fetched.next_offset) == ([0], 2)


async def test_a_diverging_epoch_is_told_with_where_the_logs_part() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 3)

    async def answer(message: Message) -> m.FetchResponse:
        (part,) = message.body.topics[0].partitions
        assert (part.last_fetched_epoch, part.current_leader_epoch) == (2, 3)
        return fetch_answer(diverging_epoch=m.FetchResponseEpochEndOffset(epoch=1, end_offset=5))

    broker.script[ApiKey.FETCH] = answer
    async with scripted(broker), client_of(broker.address) as client:
        with pytest.raises(DivergingEpochError) as caught:
            await client.reader().fetch("t", 0, 8, FetchSettings(last_fetched_epoch=2))
        assert (caught.value.epoch, caught.value.end_offset) == (1, 5)


async def test_a_follower_is_asked_when_it_is_chosen() -> None:
    leader, follower = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (leader, follower):
        broker.set_leader("t", 1, 3)

    async def answer(message: Message) -> m.FetchResponse:
        assert message.body.replica_id == -1
        return fetch_answer(records=one_batch(), high_watermark=1)

    follower.script[ApiKey.FETCH] = answer
    async with scripted(leader, follower), client_of(leader.address) as client:
        fetched = await client.reader().fetch("t", 0, 0, FetchSettings(node=2))
        assert fetched.records == [ReadRecord(0, b"k", b"v", 4, 0)]
        assert leader.count(ApiKey.FETCH) == 0


async def test_a_chosen_node_that_refuses_is_not_asked_again() -> None:
    leader, follower = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (leader, follower):
        broker.set_leader("t", 1, 3)

    async def answer(message: Message) -> m.FetchResponse:
        return fetch_answer(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)

    follower.script[ApiKey.FETCH] = answer
    async with scripted(leader, follower), client_of(leader.address) as client:
        with pytest.raises(BrokerError) as caught:
            await client.reader().fetch("t", 0, 0, FetchSettings(node=2))
        assert caught.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert follower.count(ApiKey.FETCH) == 1


async def test_a_fenced_reader_looks_for_the_new_epoch_and_asks_again() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 3)

    async def answer(message: Message) -> m.FetchResponse:
        if message.body.topics[0].partitions[0].current_leader_epoch == 3:
            broker.set_leader("t", 1, 4)
            return fetch_answer(error_code=ErrorCode.FENCED_LEADER_EPOCH)
        return fetch_answer(records=one_batch())

    broker.script[ApiKey.FETCH] = answer
    async with scripted(broker), client_of(broker.address) as client:
        assert len((await client.reader().fetch("t", 0, 0)).records) == 1
        assert broker.count(ApiKey.FETCH) == 2


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    whole, cut = one_batch(0), one_batch(1)
    for length in range(len(cut)):
        assert len(read_batches(whole + cut[:length], 0)) == 1


def test_a_damaged_batch_is_not_read() -> None:
    damaged = bytearray(one_batch())
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatchError, match="wrong CRC"):
        read_batches(bytes(damaged), 0)
