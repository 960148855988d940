"""A log that has failed: the next start must not claim that nothing was lost, until it is back."""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.broker_life import FILE_NAME, Life, read_life
from broker.log.log_directory import CLEAN_SHUTDOWN
from broker.node import Node
from broker.partition import Partition
from broker.protocol.errors import KafkaError
from tests.nodes import PATIENCE_S, wait_until
from tests.unit.broker.api.nodes import create_topic, running_node
from tests.unit.broker.led_partition import append


def two_disks() -> dict[str, MemoryDisk]:
    return {"a": MemoryDisk(), "b": MemoryDisk()}


async def wait_for_life(disk: MemoryDisk, expected: Life) -> None:
    """Disks are written to one after the other."""
    async with asyncio.timeout(PATIENCE_S):
        while await read_life(disk, "monday") != expected:  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.002)


async def fail_to_flush(node: Node, disk: MemoryDisk, error: int = errno.EIO) -> Partition:
    """The log in directory b, with records that the disk will not take before it is healed."""
    await create_topic(node, "t", partitions=2)
    partition = next(each for each in node.partitions if each.log_dir == "b")
    append(partition)
    disk.fail("fdatasync", "t-*", error=error)
    with pytest.raises(KafkaError):
        await partition.log.flush()
    return partition


def claimed(node: Node) -> Life:
    return node.role.membership._card.last_life


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("is_killed", [True, False])
async def test_the_life_in_which_a_log_failed_is_not_vouched_for(
    is_killed: bool, error: int
) -> None:
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        epoch = node.role.broker_epoch
        assert epoch is not None
        await fail_to_flush(node, disks["b"], error)
        await wait_until(lambda: node.role.life_notes.is_taken_back)
        for disk in disks.values():
            assert await read_life(disk, "monday") == Life(epoch, is_unharmed=False)
    if is_killed:
        for disk in disks.values():
            await disk.delete(CLEAN_SHUTDOWN)
    disks["b"].heal()
    async with running_node(disks=disks, boot_id="monday") as node:
        assert claimed(node) == Life(epoch, is_unharmed=False)


async def test_one_directory_that_can_be_written_is_enough() -> None:
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        disks["b"].fail("replace", FILE_NAME)
        await fail_to_flush(node, disks["b"])
    disks["b"].heal()
    async with running_node(disks=disks, boot_id="monday") as node:
        assert not claimed(node).is_unharmed


async def test_a_log_that_cannot_be_closed_counts_as_well() -> None:
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        await create_topic(node, "t", partitions=2)
        disks["b"].fail("fdatasync", "t-*")
    disks["b"].heal()
    assert CLEAN_SHUTDOWN in await disks["a"].list("")
    assert CLEAN_SHUTDOWN not in await disks["b"].list("")
    async with running_node(disks=disks, boot_id="monday") as node:
        assert not claimed(node).is_unharmed


async def test_it_is_tried_again_until_a_directory_can_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.life_notes._RETRY_S", 0.01)
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        for disk in disks.values():
            disk.fail("replace", FILE_NAME)
        await fail_to_flush(node, disks["b"])
        await asyncio.sleep(0.05)
        assert not node.role.life_notes.is_taken_back
        disks["a"].heal()
        await wait_until(lambda: node.role.life_notes.is_taken_back)
        assert not (await read_life(disks["a"], "monday")).is_unharmed


async def test_a_life_is_vouched_for_again_when_all_its_logs_are_back() -> None:
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        epoch = node.role.broker_epoch
        assert epoch is not None
        partition = await fail_to_flush(node, disks["b"])
        await wait_until(lambda: node.role.life_notes.is_taken_back)
        disks["b"].heal()
        await wait_until(lambda: partition.log.failure is None)
        await wait_until(lambda: not node.role.life_notes.is_taken_back)
        assert node.role.broker_epoch == epoch
        for disk in disks.values():
            await wait_for_life(disk, Life(epoch, is_unharmed=True))


async def test_a_full_disk_casts_no_doubt() -> None:
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        await create_topic(node, "t", partitions=2)
        partition = next(each for each in node.partitions if each.log_dir == "b")
        disks["b"].fail("append", "t-*", error=errno.ENOSPC)
        with pytest.raises(KafkaError):
            append(partition)
        assert not node.role.life_notes.is_in_doubt
        disks["b"].heal()
    async with running_node(disks=disks, boot_id="monday") as node:
        assert claimed(node).is_unharmed


async def test_a_new_life_is_not_vouched_for_while_a_log_is_in_doubt() -> None:
    disks = two_disks()
    async with running_node(disks=disks, boot_id="monday") as node:
        first = node.role.broker_epoch
        await fail_to_flush(node, disks["b"])
        await node.role.lose_trust("a test says so")
        await wait_until(lambda: node.role.broker_epoch not in (None, first))
        await node.ready()
        assert not (await read_life(disks["a"], "monday")).is_unharmed
