"""Produce names the records because of which a batch is not stored (KIP-467)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from broker.api.produce import produce
from broker.log.breather import Breather
from broker.node import Node
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import HEADER_SIZE
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node

TIME_MS = 1_700_000_000_000


async def produced(
    node: Node, version: int, *batches: tuple[str, bytearray]
) -> list[m.PartitionProduceResponse]:
    """The answers as a client of that version reads them."""
    topics = [
        m.TopicProduceData(
            name=name,
            partition_data=[m.PartitionProduceData(index=0, records=memoryview(records))],
        )
        for name, records in batches
    ]
    body = m.ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)
    answer: Any = produce(node, ask(ApiKey.PRODUCE, body, version))
    if isinstance(answer, Coroutine):
        answer = await answer
    frame = b"".join(bytes(part) for part in codec.encode_response(ApiKey.PRODUCE, version, answer))
    decoded, _ = codec.decode_response(ApiKey.PRODUCE, version, memoryview(frame), 0)
    return [topic.partition_responses[0] for topic in decoded.responses]


def without_some_keys() -> bytearray:
    records = [
        Record(number, TIME_MS, None if number in (3, 8) else b"k", b"v") for number in range(10)
    ]
    return build_batch(records)


@pytest.mark.parametrize("version", [7, 8, 9, 12])
async def test_records_without_a_key_are_named_to_the_client(version: int) -> None:
    async with running_node() as node:
        await create_topic(node, "compacted", cleanup_policy="compact")
        (answer,) = await produced(node, version, ("compacted", without_some_keys()))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
        if version < 8:
            assert answer.record_errors == []
            return
        assert [error.batch_index for error in answer.record_errors] == [3, 8]
        assert all("no key" in (e.batch_index_error_message or "") for e in answer.record_errors)
        assert "2 of 10 records" in (answer.error_message or "")


async def test_a_refused_batch_is_answered_with_the_start_of_the_log_where_kafka_does() -> None:
    good = build_batch([Record(0, TIME_MS, b"k", b"v")])
    spoilt = bytearray(good)
    spoilt[-1] ^= 1
    async with running_node() as node:
        await create_topic(node, "compacted", cleanup_policy="compact")
        (invalid,) = await produced(node, 9, ("compacted", without_some_keys()))
        assert (invalid.error_code, invalid.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)
        (corrupt,) = await produced(node, 9, ("compacted", spoilt))
        assert (corrupt.error_code, corrupt.log_start_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
        (elsewhere,) = await produced(node, 9, ("unknown", good))
        assert elsewhere.log_start_offset == -1


async def test_a_batch_that_takes_long_keeps_its_place_among_others() -> None:
    """What unpacks to more than fits in a turn is appended later, and answered all the same."""
    large = build_batch([Record(0, TIME_MS, b"k", bytes(5 << 20))], codec=Codec.GZIP, level=1)
    small = build_batch([Record(0, TIME_MS, b"k", b"v")])
    async with running_node() as node:
        await create_topic(node, "a")
        await create_topic(node, "b")
        answers = await produced(node, 9, ("a", large), ("b", small), ("a", bytearray(small)))
        assert [answer.error_code for answer in answers] == [0, 0, 0]
        assert [answer.base_offset for answer in answers] == [0, 0, 1]
        noise = bytearray(large)
        noise[HEADER_SIZE + 40] ^= 0xFF
        (answer,) = await produced(node, 9, ("a", noise))
        assert answer.error_code == ErrorCode.CORRUPT_MESSAGE


async def test_others_are_served_while_many_batches_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four megabytes are looked at in one turn; after that others get one with every batch."""
    monkeypatch.setattr("broker.api.produce.Breather", lambda: Breather(slice_ms=0))
    batches = []
    async with running_node() as node:
        for number in range(12):
            await create_topic(node, f"t{number}")
            records = [Record(0, TIME_MS, b"k", bytes(900_000))]
            batches.append((f"t{number}", build_batch(records, codec=Codec.GZIP, level=1)))
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        serving = asyncio.create_task(others())
        await asyncio.sleep(0)
        answers = await produced(node, 9, *batches)
        serving.cancel()
        assert [answer.base_offset for answer in answers] == [0] * 12
        assert turns > 8


async def test_an_append_that_became_a_task_fails_as_one_at_once_does() -> None:
    """The first batch unpacks to more than fits in a turn, and the others wait behind it."""
    slow = build_batch([Record(0, TIME_MS, b"k", bytes(5 << 20))], codec=Codec.GZIP)
    large = build_batch([Record(0, TIME_MS, b"k", bytes(9000))])
    async with running_node() as node:
        await create_topic(node, "a", max_message_bytes="8000")
        body = m.ProduceRequest(
            acks=1,
            timeout_ms=1000,
            topic_data=[
                m.TopicProduceData(
                    name="a",
                    partition_data=[
                        m.PartitionProduceData(index=0, records=memoryview(bytearray(records)))
                        for records in (slow, *[large] * 1200)
                    ],
                )
            ],
        )
        request = ask(ApiKey.PRODUCE, body, 9)
        request.breather = Breather()
        answer: Any = await produce(node, request)  # type: ignore[misc]
        answers = answer.responses[0].partition_responses
        codes = [each.error_code for each in answers]
        too_large = ErrorCode.MESSAGE_TOO_LARGE
        assert codes == [ErrorCode.NONE, *[too_large] * 1200]
        assert sum(each.error_message is not None for each in answers) == 999
        assert node.metrics.topics["a"].bytes_rejected == 1200 * len(large)


async def test_a_request_names_a_thousand_rejected_records_and_no_more() -> None:
    """Each batch is small, unpacks to thousands of records, and all of them are rejected."""
    records = [Record(number, TIME_MS, None, b"") for number in range(3000)]
    rejected = build_batch(records, codec=Codec.ZSTD)
    async with running_node() as node:
        await create_topic(node, "compacted", partitions=50, cleanup_policy="compact")
        data = [
            m.PartitionProduceData(index=index, records=memoryview(bytearray(rejected)))
            for index in range(50)
        ]
        topic = m.TopicProduceData(name="compacted", partition_data=data)
        body = m.ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
        answer: Any = produce(node, ask(ApiKey.PRODUCE, body, 9))
        answers = answer.responses[0].partition_responses
        assert {each.error_code for each in answers} == {ErrorCode.INVALID_RECORD}
        assert sum(len(each.record_errors) for each in answers) == 1000
        assert all("3000 of 3000 records" in (each.error_message or "") for each in answers)


async def test_a_gap_in_the_sequence_is_called_so_where_the_broker_sets_the_time() -> None:
    """A batch that fails at once is tried again on the long way, which gives the answer."""
    gap = build_batch(
        [Record(0, TIME_MS, b"k", b"v")], producer_id=1, producer_epoch=0, base_sequence=5
    )
    async with running_node() as node:
        await create_topic(node, "a", message_timestamp_type="LogAppendTime")
        append(node, "a", 1, producer_id=1)
        (answer,) = await produced(node, 9, ("a", gap))
        assert answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def test_a_topic_without_partitions_is_left_out_of_the_answer() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        body = m.ProduceRequest(
            acks=1, timeout_ms=1000, topic_data=[m.TopicProduceData(name="t", partition_data=[])]
        )
        answer: Any = produce(node, ask(ApiKey.PRODUCE, body, 9))
        assert answer.responses == []
