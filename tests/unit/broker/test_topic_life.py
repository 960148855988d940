"""Topics come and go while disks fail: nothing of an old one is in a new one of its name."""

import asyncio
import errno

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.checkpoints import LOG_START
from broker.metadata.changes import TopicDeleted
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from tests.nodes import (
    Wire,
    commit_while_stopped,
    create_topic,
    fetch,
    formatted,
    produce,
    running_node,
    wait_until,
    wire,
)
from tests.unit.broker.log.builders import batch


async def delete_topics(client: Wire, *names: str) -> list[int]:
    request = m.DeleteTopicsRequest(topic_names=list(names), timeout_ms=1000)
    answer = await client.ask(ApiKey.DELETE_TOPICS, 5, request)
    return [each.error_code for each in answer.responses]


async def directories(disk: MemoryDisk, topic: str) -> list[str]:
    return [name for name in await disk.list("") if name.startswith(topic + "-")]


async def wait_for_directories(disk: MemoryDisk, topic: str, expected: list[str]) -> None:
    async with asyncio.timeout(10):
        while await directories(disk, topic) != expected:  # noqa: ASYNC110 - a disk tells nobody
            await asyncio.sleep(0.05)


async def is_all_there(node: Node) -> None:
    image = node.metadata.image
    count = sum(len(topic.partitions) for topic in image.topics_sorted())
    await wait_until(lambda: len(node.partitions) == count)


async def test_a_log_that_could_not_be_renamed_is_not_found_in_the_next_topic() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"old"))
        disk.fail("rename", "t-0", error=errno.EIO, times=1)
        assert await delete_topics(client, "t") == [0]
        await create_topic(client, "t")
        assert (await fetch(client, 0)).high_watermark == 0
        assert (await produce(client, batch(b"new"))).base_offset == 0


async def test_a_log_that_could_not_be_renamed_is_deleted_later() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        disk.fail("rename", "t-0", error=errno.EIO, times=1)
        assert await delete_topics(client, "t") == [0]
        await wait_for_directories(disk, "t", [])


async def test_a_crash_between_a_deletion_and_its_renaming_brings_nothing_back() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        await produce(client, batch(b"old"))
        topic_id = node.metadata.image.topics["t"].topic_id
    await commit_while_stopped(disk, [TopicDeleted("t", topic_id)])
    async with running_node(disks=disks) as node, wire(node) as client:
        assert node.metadata.image.topic("t") is None
        await create_topic(client, "t")
        assert (await fetch(client, 0)).high_watermark == 0
        await produce(client, batch(b"new"))
        await wait_for_directories(disk, "t", ["t-0"])
    async with running_node(disks=disks) as node, wire(node) as client:
        assert (await fetch(client, 0)).high_watermark == 1


async def test_one_topic_that_cannot_be_renamed_does_not_keep_another() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "a")
        await create_topic(client, "b")
        disk.fail("rename", "a-0", error=errno.EIO, times=1)
        assert await delete_topics(client, "a", "b") == [0, 0]
        assert len(node.partitions) == 0


@pytest.mark.parametrize("operation", ["make_directory", "replace", "create"])
async def test_a_topic_whose_logs_found_no_room_gets_them_when_there_is_some(
    operation: str,
) -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        disk.fail(operation, "a-0*", error=errno.ENOSPC, times=1)
        await create_topic(client, "a", partitions=2)
        await is_all_there(node)
        for index in range(2):
            assert (await produce(client, batch(), topic="a", index=index)).error_code == 0
        assert await directories(disk, "a") == ["a-0", "a-1"]


async def test_a_topic_that_cannot_be_made_does_not_keep_another() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        disk.fail("make_directory", "a-0", error=errno.ENOSPC)
        await create_topic(client, "a")
        await create_topic(client, "b")
        assert (await produce(client, batch(), topic="b")).error_code == 0
        assert node.partitions.find("a", 0) is None


async def test_a_log_goes_where_there_is_room() -> None:
    full, sound = MemoryDisk(), MemoryDisk()
    disks = {"a": await formatted(full), "b": await formatted(sound, directory=2)}
    async with running_node(disks=disks) as node, wire(node) as client:
        full.fail("make_directory", error=errno.ENOSPC)
        await create_topic(client, "t", partitions=3)
        assert [partition.log_dir for partition in node.partitions] == ["b", "b", "b"]


async def test_a_directory_of_no_topic_is_moved_aside_and_never_touched() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        await produce(client, batch(b"precious"))
    await disk.rename("t-0", "stranger-0")
    content = await disk.read("stranger-0/00000000000000000000.log")
    for _ in range(2):
        async with running_node(disks=disks) as node, wire(node) as client:
            assert node.partitions.find("stranger", 0) is None
        [aside] = await directories(disk, "stranger")
        assert aside.startswith("stranger-0.")
        assert aside.endswith("-stray")
        assert await disk.read(f"{aside}/00000000000000000000.log") == content


async def test_of_two_logs_of_one_partition_the_longer_one_is_served() -> None:
    disks = {"a": MemoryDisk(), "b": MemoryDisk()}
    for number, disk in enumerate(disks.values()):
        await formatted(disk, directory=number)
    async with running_node(disks={**disks}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        assert node.partitions.directories["b"].logs[0].directory == "t-1"
        await produce(client, batch(b"x"), index=1)
    await disks["a"].make_directory("t-1")
    metadata = await disks["b"].read("t-1/partition.metadata")
    await disks["a"].replace("t-1/partition.metadata", metadata)
    async with running_node(disks={**disks}) as node, wire(node) as client:
        partition = node.partitions.find("t", 1)
        assert partition is not None
        assert (partition.log_dir, partition.log.end_offset) == ("b", 1)
        assert [name[-6:] for name in await directories(disks["a"], "t")] == ["t-0", "-stray"]


async def test_deleting_much_keeps_nobody_waiting() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        disk.slow("delete_directory", seconds=60)
        async with asyncio.timeout(5):
            assert await delete_topics(client, "t") == [0]
            await create_topic(client, "t")
        assert (await produce(client, batch())).error_code == 0


async def test_what_was_deleted_is_gone_from_the_disk_soon_also_after_a_crash() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        disk.fail("delete_directory")
        assert await delete_topics(client, "t") == [0]
        [doomed] = await directories(disk, "t")
        assert doomed.endswith("-delete")
        disk.process_crash()
    disk.heal()
    async with running_node(disks=disks):
        await wait_for_directories(disk, "t", [])


async def test_a_new_log_is_not_taken_for_the_older_one_that_the_checkpoints_tell_of() -> None:
    disk = MemoryDisk()
    disks = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as client:
        await create_topic(client, "t")
        for _ in range(5):
            await produce(client, batch(b"old"))
        cut = m.DeleteRecordsPartition(partition_index=0, offset=4)
        request = m.DeleteRecordsRequest(
            topics=[m.DeleteRecordsTopic(name="t", partitions=[cut])], timeout_ms=1000
        )
        await client.ask(ApiKey.DELETE_RECORDS, 2, request)
        assert b"t 0 4" in await disk.read(LOG_START)
        assert await delete_topics(client, "t") == [0]
        await create_topic(client, "t")
        await produce(client, batch(b"new"))
        disk.process_crash()
    async with running_node(disks=disks) as node, wire(node) as client:
        found = await fetch(client, 0)
        assert (found.error_code, found.log_start_offset, found.high_watermark) == (0, 0, 1)


async def test_a_topic_deleted_while_it_is_made_leaves_nothing() -> None:
    disk = await formatted(MemoryDisk())
    assert isinstance(disk, MemoryDisk)
    async with running_node(disks={"data": disk}) as node, wire(node) as one, wire(node) as two:
        disk.slow("make_directory", "t-*", seconds=0.1)
        creating = asyncio.create_task(create_topic(one, "t", partitions=40))
        await wait_until(lambda: "t" in node.metadata.image.topics)
        assert await delete_topics(two, "t") == [0]
        await creating
        await node.role.follower.until_followed()
        assert len(node.partitions) == 0
        await wait_for_directories(disk, "t", [])
