"""Bad input ends in a clear error or a closed connection; the next client is served as before."""

import asyncio
import struct
import tracemalloc
from random import Random

import pytest

from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode
from tests.nodes import (
    Wire,
    create_topic,
    fetch,
    fetch_request,
    produce,
    produce_request,
    running_node,
    wait_until,
    wire,
)
from tests.unit.broker.log.builders import batch


async def assert_serves(node: Node) -> None:
    async with wire(node) as client:
        answer = await client.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
        assert answer.error_code == 0


METADATA_HEAD = struct.pack(">hhih", 3, 9, 1, -1)
HOSTILE = {
    "negative length": struct.pack(">i", -1),
    "zero length": struct.pack(">i", 0),
    "absurd length": struct.pack(">i", 2**31 - 1),
    "unknown api": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "unknown version": struct.pack(">ihhih", 10, 3, 99, 1, -1),
    "produce v2, advertised but gone": struct.pack(">ihhih", 10, 0, 2, 1, -1),
    "truncated body": struct.pack(">i", len(METADATA_HEAD)) + METADATA_HEAD,
    "client id that is no text": struct.pack(">ihhih", 14, 18, 0, 1, 4) + b"\xff\xfe\xfd\xfc",
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300),
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
async def test_nonsense_closes_the_connection_and_nothing_else(sent: bytes) -> None:
    async with running_node() as node:
        async with wire(node) as client:
            client.writer.write(sent)
            assert await client.is_closed()
        await assert_serves(node)
        assert node.server.memory.used_bytes == 0


async def test_noise_never_stops_the_broker() -> None:
    random = Random(7)
    async with running_node() as node:
        for _ in range(60):
            async with wire(node) as client:
                noise = random.randbytes(random.randrange(4, 200))
                head = struct.pack(
                    ">ihh", len(noise) + 4, random.randrange(70), random.randrange(14)
                )
                client.writer.write(head + noise)
                client.writer.write_eof()
                await client.is_closed()
        await assert_serves(node)
        await wait_until(lambda: not node.server.connection_count)
        assert node.server.memory.used_bytes == 0


async def test_an_api_versions_request_from_the_future_is_answered_in_version_0() -> None:
    async with running_node() as node, wire(node) as client:
        client.writer.write(struct.pack(">ihhih", 12, 18, 77, 5, -1) + b"\x00\x01")
        correlation_id, answer = await client.answer(ApiKey.API_VERSIONS, 0)
        assert correlation_id == 5
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert {key.api_key for key in answer.api_keys} >= {0, 1, 3, 18}


async def test_bytes_behind_a_request_are_left_unread() -> None:
    async with running_node() as node, wire(node) as client:
        client.writer.write(struct.pack(">ihhih", 15, 18, 0, 6, -1) + b"extra")
        correlation_id, answer = await client.answer(ApiKey.API_VERSIONS, 0)
        assert (correlation_id, answer.error_code) == (6, 0)


async def test_a_topic_with_one_replica_needs_no_more_than_one_in_sync() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t", min_insync_replicas="2")
        taken = await produce(client, batch(b"x"))
        assert (taken.error_code, taken.base_offset) == (ErrorCode.NONE, 0)


async def test_a_list_that_would_grow_in_memory_is_refused_before_it_is_decoded() -> None:
    async with running_node() as node:
        async with wire(node) as client:
            names = struct.pack(">i", 5_000_000) + b"\x00\x00" * 5_000_000
            client.writer.write(struct.pack(">ihhih", 10 + len(names), 3, 4, 1, -1) + names)
            assert await client.is_closed()
        await assert_serves(node)


def spoilt(position: int, value: int) -> bytearray:
    records = bytearray(batch(b"good"))
    records[position] = value
    return records


BAD_BATCHES = {
    "flipped bit": (spoilt(-1, 0xFF), ErrorCode.CORRUPT_MESSAGE),
    "old magic": (spoilt(16, 1), ErrorCode.INVALID_RECORD),
    "unknown magic": (spoilt(16, 3), ErrorCode.CORRUPT_MESSAGE),
    "negative magic": (spoilt(16, 0xFF), ErrorCode.CORRUPT_MESSAGE),
    "negative length": (spoilt(8, 0xFF), ErrorCode.CORRUPT_MESSAGE),
    "length of a part of the header": (spoilt(11, 40), ErrorCode.CORRUPT_MESSAGE),
    "length beyond the end": (spoilt(10, 1), ErrorCode.INVALID_RECORD),
    "cut short": (bytes(batch(b"good"))[:-3], ErrorCode.INVALID_RECORD),
    "cut in the header": (bytes(batch(b"good"))[:30], ErrorCode.INVALID_RECORD),
    "no batch": (b"", ErrorCode.INVALID_RECORD),
    "null": (None, ErrorCode.INVALID_RECORD),
    "two batches": (bytes(batch(b"one")) + bytes(batch(b"two")), ErrorCode.INVALID_RECORD),
    "too large": (batch(b"x" * 2_000_000), ErrorCode.MESSAGE_TOO_LARGE),
    "transactional": (
        batch(b"x", producer_id=1, epoch=0, sequence=0, transactional=True),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
}


@pytest.mark.parametrize(("records", "code"), BAD_BATCHES.values(), ids=BAD_BATCHES)
async def test_no_wrong_byte_is_stored(records: bytes | None, code: ErrorCode) -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        assert (await produce(client, records)).error_code == code
        partition = node.partitions.find("t", 0)
        assert partition is not None
        assert partition.log.end_offset == 0
        assert partition.log.size_bytes == 0
        assert (await produce(client, batch(b"good"))).base_offset == 0


@pytest.mark.parametrize("policy", ["compact", "delete"])
async def test_a_bomb_is_refused_in_bounded_memory(policy: str) -> None:
    bomb = batch(bytes(64 << 20), codec=Codec.ZSTD)
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t", cleanup_policy=policy)
        tracemalloc.start()
        try:
            answer = await produce(client, bomb)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert peak_bytes < 4 << 20


async def test_acks_0_is_not_answered_and_its_error_closes_the_connection() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        client.writer.write(client.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"a"), acks=0)))
        assert (await produce(client, batch(b"b"))).base_offset == 1
        wrong = produce_request(batch(b"a"), topic="missing", acks=0)
        client.writer.write(client.frame(ApiKey.PRODUCE, 9, wrong))
        assert await client.is_closed()


async def test_a_request_in_many_pieces_is_one_request() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        frame = client.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"x" * 5000)))
        for start in range(0, len(frame), 700):
            client.writer.write(frame[start : start + 700])
            await client.writer.drain()
            await asyncio.sleep(0)
        _, answer = await client.answer(ApiKey.PRODUCE, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


async def test_many_requests_at_once_are_answered_in_order() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        sent = b"".join(
            client.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"%d" % number)))
            for number in range(300)
        )
        client.writer.write(sent)
        offsets = []
        for _ in range(300):
            _, answer = await client.answer(ApiKey.PRODUCE, 9)
            offsets.append(answer.responses[0].partition_responses[0].base_offset)
        assert offsets == list(range(300))


async def test_a_waiting_fetch_holds_back_what_is_behind_it_on_its_connection() -> None:
    async with running_node() as node, wire(node) as client, wire(node) as other:
        await create_topic(client, "t")
        client.writer.write(client.frame(ApiKey.FETCH, 12, fetch_request(0, max_wait_ms=15_000)))
        client.writer.write(client.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"later"))))
        assert (await produce(other, batch(b"first"))).base_offset == 0
        _, fetched = await client.answer(ApiKey.FETCH, 12)
        assert fetched.responses[0].partitions[0].high_watermark == 1
        _, produced = await client.answer(ApiKey.PRODUCE, 9)
        assert produced.responses[0].partition_responses[0].base_offset == 1


async def test_ten_copies_over_several_connections_are_stored_once() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"before"))
        records = bytes(batch(b"a", b"b", producer_id=7, epoch=0, sequence=0))
        connections = [await Wire.connect(node.advertised) for _ in range(5)]
        answers = await asyncio.gather(
            *(produce(each, bytes(records)) for each in connections),
        )
        answers += await asyncio.gather(
            *(produce(each, bytes(records)) for each in connections),
        )
        for each in connections:
            await each.close()
        assert {(answer.error_code, answer.base_offset) for answer in answers} == {(0, 1)}
        part = await fetch(client, 0)
        assert part.high_watermark == 3


async def test_a_flood_of_half_requests_is_bounded_and_others_are_served() -> None:
    async with running_node({"queued.max.request.bytes": str(1 << 20)}) as node:
        halves = [await Wire.connect(node.advertised) for _ in range(12)]
        for half in halves:
            half.writer.write(struct.pack(">i", 50_000_000) + bytes(300_000))
        async with wire(node) as client:
            await create_topic(client, "t")
            for number in range(20):
                assert (await produce(client, batch(b"x" * 50_000))).base_offset == number
        assert node.server.memory.used_bytes < 16 << 20
        for half in halves:
            await half.close()
        await wait_until(lambda: not node.server.connection_count)
        assert node.server.memory.used_bytes == 0


async def test_who_was_held_back_is_told_by_throttle_time() -> None:
    async with (
        running_node({"queued.max.request.bytes": "8192"}) as node,
        wire(node) as squatter,
        wire(node) as privileged,
        wire(node) as held,
    ):
        await create_topic(held, "t")
        squatter.writer.write(struct.pack(">i", 5000) + bytes(4999))
        await wait_until(lambda: node.server.memory.saturated)
        ask = produce_request(batch(b"x" * 200_000))
        first = privileged.frame(ApiKey.PRODUCE, 9, ask)
        privileged.writer.write(first[:-1])
        await wait_until(lambda: node.server.memory.used_bytes >= len(first))
        held.writer.write(held.frame(ApiKey.PRODUCE, 9, ask))
        await wait_until(lambda: node.server.memory.is_somebody_waiting)
        privileged.writer.write(first[-1:])
        _, answered = await privileged.answer(ApiKey.PRODUCE, 9)
        assert answered.throttle_time_ms == 0
        _, late = await held.answer(ApiKey.PRODUCE, 9)
        assert late.throttle_time_ms > 0
        assert late.responses[0].partition_responses[0].error_code == 0


async def test_silent_connections_are_closed_in_time() -> None:
    async with running_node({"connections.max.idle.ms": "50"}) as node, wire(node) as client:
        assert await client.is_closed()
        assert node.server.connection_count == 0


async def test_a_flood_of_malformed_requests_leaves_few_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running_node() as node:
        for _ in range(30):
            async with wire(node) as client:
                client.writer.write(bytes(4))
                assert await client.is_closed()
    lines = [each.getMessage() for each in caplog.records if "closing the" in each.getMessage()]
    assert len(lines) == 6
    assert lines[-1].startswith("left out 25 more lines like this one: closing the connection of")


async def test_connections_beyond_the_limit_are_refused() -> None:
    async with running_node({"max.connections.per.ip": "3"}) as node:
        allowed = [await Wire.connect(node.advertised) for _ in range(3)]
        async with wire(node) as client:
            assert await client.is_closed()
        for each in allowed:
            await each.close()
        await wait_until(lambda: not node.server.connection_count)
        await assert_serves(node)


async def test_a_client_that_does_not_read_stops_being_served_and_costs_little() -> None:
    async with running_node() as node, wire(node) as client, wire(node) as deaf:
        await create_topic(client, "t", partitions=200)
        ask = deaf.frame(ApiKey.METADATA, 9, m.MetadataRequest(topics=None))
        deaf.writer.write(ask * 20_000)
        for _ in range(50):
            await produce(client, batch(b"x"))
        assert 0 < node.server.unsent_bytes < 4 << 20


async def test_a_client_that_leaves_during_a_long_poll_is_noticed() -> None:
    async with running_node() as node:
        async with wire(node) as client:
            await create_topic(client, "t")
            forever = fetch_request(0, max_wait_ms=2**31 - 1)
            client.writer.write(client.frame(ApiKey.FETCH, 12, forever))
            partition = node.partitions.find("t", 0)
            assert partition is not None
            await wait_until(lambda: bool(partition.watchers))
        await wait_until(lambda: not node.server.connection_count)
        await wait_until(lambda: not bool(partition.watchers))


async def test_what_waits_behind_a_long_poll_is_bounded() -> None:
    async with running_node() as node, wire(node) as client, wire(node) as writer:
        await create_topic(client, "t")
        client.writer.write(client.frame(ApiKey.FETCH, 12, fetch_request(0, max_wait_ms=15_000)))
        partition = node.partitions.find("t", 0)
        assert partition is not None
        await wait_until(lambda: bool(partition.watchers))
        one = client.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"x" * 1000)))
        client.writer.write(one * 10_000)
        for number in range(20):
            await writer.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
            assert node.server.memory.used_bytes < 200_000, number
        await produce(writer, batch(b"go on"))
        await client.answer(ApiKey.FETCH, 12)
        for number in range(10_000):
            _, answer = await client.answer(ApiKey.PRODUCE, 9)
            assert answer.responses[0].partition_responses[0].base_offset == number + 1


async def test_an_answer_that_cannot_be_written_closes_instead_of_hanging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_node() as node:
        async with wire(node) as client:
            await create_topic(client, "t")
            # No answer of ours is known to be unwritable, so one is made.
            monkeypatch.setattr(node, "cluster_id", "\ud800")
            client.writer.write(client.frame(ApiKey.METADATA, 9, m.MetadataRequest(topics=None)))
            assert await client.is_closed()
        monkeypatch.undo()
        await assert_serves(node)


async def test_an_error_message_fits_every_version() -> None:
    async with running_node() as node, wire(node) as client:
        topic = m.CreatableTopic(
            name="t",
            num_partitions=1,
            replication_factor=1,
            configs=[m.CreatableTopicConfig(name="retention.ms", value="x" * 32_767)],
        )
        for version in (4, 7):
            answer = await client.ask(
                ApiKey.CREATE_TOPICS, version, m.CreateTopicsRequest(topics=[topic], timeout_ms=9)
            )
            assert answer.topics[0].error_code == ErrorCode.INVALID_CONFIG


async def test_a_partition_named_twice_keeps_its_order_when_the_first_must_wait() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t", segment_bytes=str(1 << 20))
        await produce(client, batch(b"x" * 900_000))
        ask = produce_request(batch(b"y" * 200_000))
        ask.topic_data[0].partition_data.append(
            m.PartitionProduceData(index=0, records=batch(b"small"))
        )
        answer = await client.ask(ApiKey.PRODUCE, 9, ask)
        offsets = [part.base_offset for part in answer.responses[0].partition_responses]
        assert offsets == [1, 2]


async def test_unknown_topics_leave_no_trace_in_the_metrics() -> None:
    async with running_node() as node, wire(node) as client:
        for number in range(20):
            await produce(client, batch(b"x"), topic=f"unknown-{number}")
        assert [name for name in node.metrics.topics if name.startswith("unknown")] == []
