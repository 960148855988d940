"""Fetch over the wire: what is returned, when it waits, what it refuses."""

import asyncio

from broker.disk.memory import MemoryDisk
from broker.log.log import Origin
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import iterate_headers
from broker.protocol.errors import ErrorCode
from tests.nodes import (
    create_topic,
    fetch,
    fetch_request,
    formatted,
    produce,
    running_node,
    wait_until,
    wire,
)
from tests.unit.broker.log.builders import batch, end_transaction


def base_offsets(part: m.FetchResponsePartitionData) -> list[int]:
    assert part.records is not None
    return [header.base_offset for _, header in iterate_headers(memoryview(part.records))]


async def test_what_was_produced_comes_back_byte_for_byte() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        sent = bytes(batch(b"a", b"b", b"c"))
        await produce(client, bytes(sent))
        part = await fetch(client, 0)
        assert part.error_code == 0
        assert part.high_watermark == part.last_stable_offset == 3
        assert part.records is not None
        # All but the leader epoch, which only the broker knows.
        assert bytes(part.records)[16:] == sent[16:]
        assert base_offsets(await fetch(client, 2)) == [0]


async def test_a_fetch_at_the_end_waits_and_is_woken_by_the_next_append() -> None:
    async with running_node() as node, wire(node) as reader, wire(node) as writer:
        await create_topic(writer, "t")
        waiting = asyncio.create_task(fetch(reader, 0, max_wait_ms=15_000))
        partition = node.partitions.find("t", 0)
        assert partition is not None
        await wait_until(lambda: bool(partition.watchers))
        assert not waiting.done()
        await produce(writer, batch(b"now"))
        assert base_offsets(await waiting) == [0]


async def test_a_fetch_waits_until_there_is_enough_or_its_time_is_up() -> None:
    async with running_node() as node, wire(node) as reader, wire(node) as writer:
        await create_topic(writer, "t")
        waiting = asyncio.create_task(fetch(reader, 0, max_wait_ms=15_000, min_bytes=10_000))
        await produce(writer, batch(b"x" * 6000))
        await asyncio.sleep(0)
        await produce(writer, batch(b"x" * 6000))
        assert base_offsets(await waiting) == [0, 1]
        part = await fetch(reader, 0, max_wait_ms=1, min_bytes=1 << 19)
        assert base_offsets(part) == [0, 1]


async def test_an_offset_outside_the_log_is_refused_at_once() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        part = await fetch(client, 5, max_wait_ms=15_000)
        assert part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        # Null would be a broken answer to librdkafka.
        assert part.records is not None
        assert len(part.records) == 0
        assert part.aborted_transactions is None
        assert node.metrics.topics["t"].failed_fetch_requests == 1
        part = await fetch(client, 0, topic="missing", max_wait_ms=15_000)
        assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert part.aborted_transactions == []
        assert "missing" not in node.metrics.topics
        assert part.records is not None
        assert len(part.records) == 0


async def test_a_batch_larger_than_every_limit_still_comes_first_and_whole() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        await produce(client, batch(b"x" * 500_000), index=0)
        await produce(client, batch(b"y" * 500_000), index=1)
        ask = fetch_request(0, max_bytes=1000)
        for index in (0, 1):
            ask.topics[0].partitions[index:] = [
                m.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1000)
            ]
        answer = await client.ask(ApiKey.FETCH, 12, ask)
        sizes = [len(part.records or b"") for part in answer.responses[0].partitions]
        assert sizes[0] > 500_000
        assert sizes[1] == 0


async def test_a_reader_of_committed_data_stops_at_the_open_transaction() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"plain"))
        partition = node.partitions.find("t", 0)
        assert partition is not None
        # Only a coordinator opens transactions, and there is none yet: straight into the log.
        log = partition.log
        log.append(
            batch(b"open", producer_id=9, epoch=0, sequence=0, transactional=True),
            leader_epoch=partition.leader_epoch,
            origin=Origin.CLIENT,
        )
        log.advance_high_watermark(log.end_offset)
        part = await fetch(client, 0, isolation_level=0)
        assert base_offsets(part) == [0, 1]
        assert part.aborted_transactions is None
        part = await fetch(client, 0, isolation_level=1)
        assert base_offsets(part) == [0]
        assert part.aborted_transactions == []
        assert (part.high_watermark, part.last_stable_offset) == (2, 1)
        end_transaction(log, 9, committed=False)
        log.advance_high_watermark(log.end_offset)
        part = await fetch(client, 0, isolation_level=1)
        assert base_offsets(part) == [0, 1, 2]
        assert part.aborted_transactions == [m.AbortedTransaction(producer_id=9, first_offset=1)]


async def test_a_debugging_consumer_reads_what_consumers_read() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"x"))
        part = await fetch(client, 0, replica_id=-2)
        assert (part.error_code, base_offsets(part)) == (0, [0])


async def test_an_incremental_session_tells_only_news() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        ask = fetch_request(0, session_epoch=0)
        ask.topics[0].partitions.append(
            m.FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1 << 20)
        )
        first = await client.ask(ApiKey.FETCH, 12, ask)
        assert first.session_id > 0
        assert len(first.responses[0].partitions) == 2
        await produce(client, batch(b"x"), index=1)
        again = m.FetchRequest(
            max_wait_ms=0, min_bytes=1, session_id=first.session_id, session_epoch=1
        )
        second = await client.ask(ApiKey.FETCH, 12, again)
        assert [part.partition_index for part in second.responses[0].partitions] == [1]
        again.session_epoch = 5
        wrong = await client.ask(ApiKey.FETCH, 12, again)
        assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


async def test_a_session_in_which_all_is_quiet_hears_of_whatever_happens() -> None:
    async with running_node() as node, wire(node) as reader, wire(node) as writer:
        await create_topic(writer, "t", partitions=2)
        ask = fetch_request(0, session_epoch=0)
        ask.topics[0].partitions.append(
            m.FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1 << 20)
        )
        session_id = (await reader.ask(ApiKey.FETCH, 12, ask)).session_id
        number = 0

        async def news(max_wait_ms: int, at: int | None = None) -> dict[int, tuple[int, int, int]]:
            """Error, log start and count of bytes of each partition that is mentioned."""
            nonlocal number
            number += 1
            again = fetch_request(at or 0, session_epoch=number, max_wait_ms=max_wait_ms)
            again.session_id = session_id
            again.topics[0].partitions[0].partition = 1
            if at is None:
                again.topics = []
            parts = [
                part
                for topic in (await reader.ask(ApiKey.FETCH, 12, again)).responses
                for part in topic.partitions
            ]
            return {
                part.partition_index: (
                    part.error_code,
                    part.log_start_offset,
                    len(part.records or b""),
                )
                for part in parts
            }

        async def until_it_waits() -> None:
            partition = node.partitions.find("t", 1)
            assert partition is not None
            await wait_until(lambda: bool(partition.watchers))

        assert await news(0) == {}
        waiting = asyncio.create_task(news(15_000))
        await until_it_waits()
        await produce(writer, batch(b"now"), index=1)
        assert await waiting == {1: (0, 0, len(batch(b"now")))}
        assert await news(0, at=1) == {}
        partition = node.partitions.find("t", 1)
        assert partition is not None
        await partition.log.delete_records(1)
        assert await news(0) == {1: (0, 1, 0)}
        waiting = asyncio.create_task(news(15_000))
        await until_it_waits()
        await writer.ask(
            ApiKey.DELETE_TOPICS, 5, m.DeleteTopicsRequest(topic_names=["t"], timeout_ms=15_000)
        )
        # Which one is gone first, and whether only its log is yet, is nobody's promise.
        told = [error for error, _, _ in (await waiting).values()]
        assert told
        assert set(told) <= {
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
        }


async def test_topics_are_found_by_id_from_version_13_on() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"x"))
        topic = node.metadata.image.topic("t")
        assert topic is not None
        ask = fetch_request(0)
        ask.topics[0].topic_id = topic.topic_id
        answer = await client.ask(ApiKey.FETCH, 16, ask)
        assert base_offsets(answer.responses[0].partitions[0]) == [0]
        ask.topics[0].topic_id = bytes(range(16))
        answer = await client.ask(ApiKey.FETCH, 16, ask)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_a_reader_of_another_epoch_is_told() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"x"))
        for epoch, code in ((0, 0), (9, ErrorCode.UNKNOWN_LEADER_EPOCH)):
            ask = fetch_request(0)
            ask.topics[0].partitions[0].current_leader_epoch = epoch
            answer = await client.ask(ApiKey.FETCH, 12, ask)
            assert answer.responses[0].partitions[0].error_code == code


async def test_a_reader_whose_past_was_cut_off_is_told_where_it_diverges() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"x"))
        partition = node.partitions.find("t", 0)
        assert partition is not None
        partition.leader_epoch = 2
        await produce(client, batch(b"y"))
        ask = fetch_request(2)
        ask.topics[0].partitions[0].last_fetched_epoch = 1
        answer = await client.ask(ApiKey.FETCH, 12, ask)
        assert answer.responses[0].partitions[0].diverging_epoch == (
            m.FetchResponseEpochEndOffset(epoch=0, end_offset=1)
        )
        ask.topics[0].partitions[0].last_fetched_epoch = 7
        answer = await client.ask(ApiKey.FETCH, 12, ask)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_cold_data_is_brought_in_without_blocking_the_loop() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": await formatted(disk)}) as node, wire(node) as client:
        await create_topic(client, "t")
        for number in range(50):
            await produce(client, batch(b"%d" % number * 2000))
        disk.chill()
        disk.blocking_reads = 0
        assert base_offsets(await fetch(client, 7))[0] == 7
        assert disk.blocking_reads == 0


async def test_an_isolation_level_that_is_not_known_is_refused() -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"x"))
        for version in (4, 12):
            ask = fetch_request(0, isolation_level=2)
            answer = await client.ask(ApiKey.FETCH, version, ask)
            (part,) = answer.responses[0].partitions
            assert (part.error_code, part.high_watermark) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)
            assert not part.records
        answer = await client.ask(ApiKey.FETCH, 16, fetch_request(0, isolation_level=2))
        assert (answer.error_code, answer.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
