"""A disk without room: the node starts, serves readers, and takes records when there is room."""

from __future__ import annotations

import errno
import logging

import pytest

from broker.disk.faults import Fault
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.metadata.changes import TopicDeleted
from broker.protocol.errors import ErrorCode
from tests.nodes import (
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


@pytest.mark.parametrize("was_clean", [True, False])
async def test_a_full_disk_is_read_and_written_to_when_there_is_room(
    caplog: pytest.LogCaptureFixture, was_clean: bool
) -> None:
    disk = MemoryDisk()
    disks: dict[str, Disk] = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as connection:
        await create_topic(connection, "t", segment_bytes="1048576")
        for _ in range(4):
            assert (await produce(connection, batch(b"x" * 400_000))).error_code == 0
    if not was_clean:
        await disk.delete(".kafka_cleanshutdown")
        for name in await disk.list("t-0"):
            if not name.endswith((".log", ".metadata")):
                await disk.delete(f"t-0/{name}")
        await disk.delete("recovery-point-offset-checkpoint")
    disk.capacity_bytes = 0
    async with running_node(disks=disks) as node, wire(node) as connection:
        told = [each for each in caplog.records if each.levelno >= logging.ERROR]
        assert "cannot be written until there is room" in told[0].getMessage()
        assert (await fetch(connection, 0)).records
        assert (await fetch(connection, 3)).records
        refused = await produce(connection, batch(b"y"))
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        [partition] = node.partitions
        before = partition.leader_epoch
        disk.capacity_bytes = None
        await wait_until(lambda: partition.leader_epoch > before and bool(partition.leader))
        taken = await produce(connection, batch(b"z"))
        assert (taken.error_code, taken.base_offset) == (0, 4)
        known = node.metadata.image.topics["t"].partitions[0]
        assert known.leader_epoch == partition.leader_epoch
    async with running_node(disks=disks) as node, wire(node) as connection:
        assert (await fetch(connection, 4)).high_watermark == 5


async def test_a_disk_with_no_room_for_the_metadata_log_is_read_all_the_same() -> None:
    disk = MemoryDisk()
    disks: dict[str, Disk] = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as connection:
        await create_topic(connection, "t")
        assert (await produce(connection, batch(b"x"))).error_code == 0
    disk.fail("append", "__cluster_metadata-0/*", error=errno.ENOSPC)
    async with running_node(disks=disks) as node, wire(node) as connection:
        assert (await fetch(connection, 0)).records
        refused = await produce(connection, batch(b"y"))
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        [partition] = node.partitions
        before = partition.leader_epoch
        disk.heal()
        await wait_until(lambda: partition.leader_epoch > before and bool(partition.leader))
        assert (await produce(connection, batch(b"z"))).base_offset == 1
        assert not node.failed.done()


class RoomForOne(Fault):
    """The record that opens the leader's epoch still fits."""

    def meets(self, operation: str, path: str) -> bool:
        if not super().meets(operation, path):
            return False
        self.hits += 1
        return self.hits > 1


async def test_a_disk_with_no_room_for_a_registration_is_read_all_the_same() -> None:
    disk = MemoryDisk()
    disks: dict[str, Disk] = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as connection:
        await create_topic(connection, "t")
        assert (await produce(connection, batch(b"x"))).error_code == 0
    disk.faults.add(RoomForOne("append", "__cluster_metadata-0/*", errno.ENOSPC, 0.0, None))
    async with running_node(disks=disks) as node, wire(node) as connection:
        assert (await fetch(connection, 0)).records
        disk.heal()
        [partition] = node.partitions
        await wait_until(lambda: partition.before_append is None and bool(partition.leader))
        assert (await produce(connection, batch(b"z"))).base_offset == 1


async def test_what_was_deleted_before_does_not_keep_a_full_disk_from_being_read() -> None:
    disk = MemoryDisk()
    disks: dict[str, Disk] = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as connection:
        await create_topic(connection, "t")
        await create_topic(connection, "gone")
        assert (await produce(connection, batch(b"x"))).error_code == 0
        topic_id = node.metadata.image.topics["gone"].topic_id
    await commit_while_stopped(disk, [TopicDeleted("gone", topic_id)])
    disk.capacity_bytes = 0
    async with running_node(disks=disks) as node, wire(node) as connection:
        assert (await fetch(connection, 0)).records
        unknown = await fetch(connection, 0, topic="gone")
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        disk.capacity_bytes = None
