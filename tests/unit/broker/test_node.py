"""A node over its whole life: what it knew it knows again, and a full disk is not the end."""

import asyncio

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.identity import NotFormattedError, WrongDirectoryError
from broker.log.log_directory import CLEAN_SHUTDOWN
from broker.node import Node
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import iterate_headers
from broker.protocol.errors import ErrorCode
from tests.nodes import (
    Wire,
    create_topic,
    fetch,
    formatted,
    produce,
    running_node,
    wait_until,
    wire,
)
from tests.unit.broker.log.builders import batch


def partition_of(node: Node, topic: str = "t", index: int = 0) -> Partition:
    partition = node.partitions.find(topic, index)
    assert partition is not None
    return partition


async def offsets_with_records(client: Wire) -> list[int]:
    """Reads on as a consumer does, over batches that compaction has emptied."""
    found: list[int] = []
    offset = 0
    while (part := await fetch(client, offset)).records:
        for _, header in iterate_headers(part.records):
            offset = header.last_offset + 1
            if header.record_count:
                found.append(header.base_offset)
    return found


async def test_a_restart_keeps_topics_records_and_producers() -> None:
    disks = {"data": await formatted(MemoryDisk())}
    numbered = bytes(batch(b"a", b"b", producer_id=7, epoch=0, sequence=0))
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t", partitions=3, retention_ms="1234567")
        assert (await produce(client, bytes(numbered), index=2)).base_offset == 0
        epoch = partition_of(node).leader_epoch
    async with running_node(disks=disks) as node, wire(node) as client:
        assert [p.index for p in node.partitions] == [0, 1, 2]
        partition = partition_of(node, index=2)
        assert partition.log.config.retention_ms == 1234567
        assert partition.leader_epoch > epoch
        again = await produce(client, bytes(numbered), index=2)
        assert (again.error_code, again.base_offset) == (0, 0)
        assert (await fetch(client, 0, index=2)).high_watermark == 2


async def test_a_power_loss_after_a_flush_loses_nothing_that_was_flushed() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t", flush_messages="1")
        for number in range(20):
            assert (await produce(client, batch(b"%d" % number))).base_offset == number
        disk.power_loss()
    async with running_node(disks=disks) as node, wire(node) as client:
        assert partition_of(node).log.end_offset == 20
        assert (await produce(client, batch(b"next"))).base_offset == 20


async def test_a_full_disk_takes_no_records_until_there_is_room_but_is_read() -> None:
    disk = MemoryDisk(capacity_bytes=3_000_000)
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        acknowledged = 0
        while (answer := await produce(client, batch(b"x" * 300_000))).error_code == 0:
            assert answer.base_offset == acknowledged
            acknowledged += 1
        assert 0 < acknowledged < 10
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert (await fetch(client, 0)).error_code == ErrorCode.NONE
        disk.capacity_bytes = 30_000_000
        async with asyncio.timeout(10):
            while (answer := await produce(client, batch(b"y" * 300_000))).error_code:
                pass
        assert answer.base_offset == acknowledged
        assert partition_of(node).log.end_offset == acknowledged + 1


async def test_a_failing_directory_leaves_the_others_alone() -> None:
    broken, sound = MemoryDisk(), MemoryDisk()
    disks = {"a": await formatted(broken), "b": await formatted(sound, directory=2)}
    async with running_node({"log.dirs": "a,b"}, disks=disks) as node, wire(node) as client:
        await create_topic(client, "t", partitions=4)
        homes = {partition.index: partition.log_dir for partition in node.partitions}
        assert sorted(homes.values()) == ["a", "a", "b", "b"]
        broken.fail("append", "*.log")
        codes = {
            index: (await produce(client, batch(b"x"), index=index)).error_code for index in homes
        }
        for index, home in homes.items():
            assert codes[index] == (ErrorCode.KAFKA_STORAGE_ERROR if home == "a" else 0)
        broken.heal()
        await wait_until(lambda: not any(each.log.failure for each in node.partitions))
        # The controller may have heard of it meanwhile.
        await wait_until(lambda: all(each.leader for each in node.partitions))
        for index in homes:
            assert (await produce(client, batch(b"x"), index=index)).error_code == 0


async def test_a_deleted_topic_wakes_its_readers_and_frees_its_name() -> None:
    async with running_node() as node, wire(node) as client, wire(node) as reader:
        await create_topic(client, "t")
        await produce(client, batch(b"old"))
        waiting = asyncio.create_task(fetch(reader, 1, max_wait_ms=15_000))
        await wait_until(lambda: bool(partition_of(node).watchers))
        deleted = await client.ask(
            ApiKey.DELETE_TOPICS,
            6,
            m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name="t")], timeout_ms=1000),
        )
        assert deleted.responses[0].error_code == 0
        assert (await waiting).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await create_topic(client, "t")
        assert (await fetch(client, 0)).high_watermark == 0


async def test_a_compacted_topic_forgets_all_but_the_last_value_of_a_key() -> None:
    async with running_node({"log.cleaner.backoff.ms": "20"}) as node, wire(node) as client:
        await create_topic(
            client,
            "t",
            cleanup_policy="compact",
            segment_bytes=str(1 << 20),
            min_cleanable_dirty_ratio="0.01",
        )
        for number in range(100):
            value = b"%d" % number + b"x" * 30_000
            assert (await produce(client, batch(value, keys=[b"same"]))).error_code == 0
        log = partition_of(node).log
        rolled = log.segments[-1].base_offset
        async with asyncio.timeout(20):
            while (await offsets_with_records(client))[0] < rolled - 1:
                pass
        assert await offsets_with_records(client) == list(range(rolled - 1, 100))
        assert (log.start_offset, log.end_offset) == (0, 100)


async def test_a_start_that_fails_leaves_a_clean_stop_behind() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node() as other:
        taken = f"PLAINTEXT://127.0.0.1:{other.advertised.port}"
        with pytest.raises(OSError, match="cannot listen"):
            async with running_node({"listeners": taken}, disks=disks):
                pass
    assert CLEAN_SHUTDOWN in await disk.list("")


async def test_a_start_that_fails_half_way_vouches_for_nothing() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        await produce(client, batch(b"x"), index=1)
        disk.process_crash()
    disk.fail("open", "t-1/*")
    with pytest.raises(OSError, match="t-1"):
        async with running_node(disks=disks):
            pass
    assert CLEAN_SHUTDOWN not in await disk.list("")
    disk.heal()
    async with running_node(disks=disks) as node:
        assert partition_of(node, index=1).log.end_offset == 1


async def test_a_directory_of_another_node_is_not_touched() -> None:
    disks = {"data": await formatted(MemoryDisk())}
    with pytest.raises(WrongDirectoryError, match="belongs to node 1, this is node 2"):
        async with running_node({"node.id": "2"}, disks=disks):
            pass
    with pytest.raises(NotFormattedError, match="broker format"):
        async with running_node(disks={"data": MemoryDisk()}):
            pass
