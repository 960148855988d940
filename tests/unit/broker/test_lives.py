"""From one life of a broker to the next: what it may claim to have kept."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.broker_life import (
    FILE_NAME,
    Life,
    life_before_clean_stop,
    marker_of,
    read_life,
    write_life,
)
from broker.log.log_directory import CLEAN_SHUTDOWN
from broker.node import Node
from tests.nodes import wait_until
from tests.unit.broker.api.nodes import running_node

LONELY = {
    "process.roles": "broker",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "9@localhost:9093",
}


async def left_behind(disk: MemoryDisk) -> Life:
    return life_before_clean_stop(await disk.read(CLEAN_SHUTDOWN))


@pytest.mark.parametrize("boot_id", ["monday", "tuesday"])
async def test_a_stop_before_the_registration_leaves_the_life_before_as_it_was(
    boot_id: str,
) -> None:
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, "monday")
    await disk.replace(CLEAN_SHUTDOWN, marker_of(Life(7, is_unharmed=True)))
    for _ in range(2):
        async with running_node(LONELY, {"data": disk}, boot_id=boot_id) as node:
            assert node.role.broker_epoch is None
        assert await left_behind(disk) == Life(7, is_unharmed=True)


async def test_a_stop_before_the_registration_does_not_heal_what_was_harmed() -> None:
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, "monday")
    for _ in range(2):
        async with running_node(LONELY, {"data": disk}, boot_id="tuesday"):
            pass
        assert await left_behind(disk) == Life(7, is_unharmed=False)


def claimed(node: Node) -> Life:
    """What it says of the life before when it registers."""
    return node.role.membership._card.last_life


async def test_trust_that_was_lost_stays_lost_when_the_broker_is_killed() -> None:
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, "monday")
    async with running_node(LONELY, {"data": disk}, boot_id="monday") as node:
        assert claimed(node) == Life(7, is_unharmed=True)
        await node.role.lose_trust("a test says so")
        assert claimed(node) == Life(7, is_unharmed=False)
    assert await left_behind(disk) == Life(7, is_unharmed=False)
    await disk.delete(CLEAN_SHUTDOWN)  # a kill would not have left it
    async with running_node(LONELY, {"data": disk}, boot_id="monday") as node:
        assert claimed(node) == Life(7, is_unharmed=False)


async def test_trust_that_cannot_be_taken_back_on_any_disk_ends_the_node() -> None:
    disk = MemoryDisk()
    async with running_node(LONELY, {"data": disk}, boot_id="monday") as node:
        disk.fail("replace", FILE_NAME)
        await node.role.lose_trust("a test says so")
        assert node.failed.done()


async def test_a_life_that_has_lost_trust_is_not_noted_any_more() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}, boot_id="monday") as node:
        epoch = node.role.broker_epoch
        assert epoch is not None
        losing = asyncio.ensure_future(node.role.lose_trust("a test says so"))
        await asyncio.sleep(0)
        await node.role.note_life(epoch)
        await losing
        assert await read_life(disk, "monday") == Life(epoch, is_unharmed=False)
        await wait_until(lambda: node.role.broker_epoch not in (None, epoch))
        await node.ready()
        epoch = node.role.broker_epoch
        assert await read_life(disk, "monday") == Life(cast("int", epoch), is_unharmed=True)


async def test_a_stop_after_the_registration_leaves_this_life() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        epoch = node.role.broker_epoch
        assert epoch is not None
    assert await left_behind(disk) == Life(epoch, is_unharmed=True)


async def killed(disk: MemoryDisk, boot_id: str) -> None:
    """A start on this disk that ends before the broker has registered."""
    async with running_node(LONELY, {"data": disk}, boot_id=boot_id) as node:
        assert node.role.broker_epoch is None
    await disk.delete(CLEAN_SHUTDOWN)  # a kill would not have left it


async def test_a_kill_before_the_first_note_harms_nothing_though_the_machine_was_off_before() -> (
    None
):
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, "monday")
    await disk.replace(CLEAN_SHUTDOWN, marker_of(Life(7, is_unharmed=True)))
    await killed(disk, "tuesday")
    assert await read_life(disk, "tuesday") == Life(7, is_unharmed=True)
    async with running_node(LONELY, {"data": disk}, boot_id="tuesday") as node:
        assert claimed(node) == Life(7, is_unharmed=True)
    await disk.delete(CLEAN_SHUTDOWN)
    async with running_node(LONELY, {"data": disk}, boot_id="wednesday") as node:
        assert claimed(node) == Life(7, is_unharmed=False)


async def test_a_start_on_a_disk_that_takes_no_note_goes_on() -> None:
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, "monday")
    await disk.replace(CLEAN_SHUTDOWN, marker_of(Life(7, is_unharmed=True)))
    disk.fail("replace", FILE_NAME)
    async with running_node(LONELY, {"data": disk}, boot_id="tuesday") as node:
        assert claimed(node) == Life(7, is_unharmed=True)
    assert await read_life(disk, "tuesday") == Life(7, is_unharmed=False)


@pytest.mark.parametrize(
    ("notes", "together"),
    [
        ([(7, "monday"), (7, "monday")], Life(7, is_unharmed=True)),
        # Killed when only one of them had the note of the new life.
        ([(9, "monday"), (7, "monday")], Life(7, is_unharmed=True)),
        ([(7, "monday"), (9, "monday")], Life(7, is_unharmed=True)),
        ([(9, "monday"), (7, "sunday")], Life(9, is_unharmed=False)),
        ([(9, "monday"), None], Life(9, is_unharmed=False)),
    ],
)
async def test_directories_vouch_together_for_the_earliest_life_that_all_have_noted(
    notes: list[tuple[int, str] | None], together: Life
) -> None:
    disks = {"a": MemoryDisk(), "b": MemoryDisk()}
    for disk, note in zip(disks.values(), notes, strict=True):
        await disk.make_directory("")
        if note is not None:
            await write_life(disk, *note)
    properties = {**LONELY, "log.dirs": "a,b"}
    async with running_node(properties, disks, boot_id="monday") as node:
        assert claimed(node) == together
