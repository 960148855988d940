"""From one life of a broker to the next: what it may claim to have kept."""

from __future__ import annotations

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.broker_life import (
    Life,
    life_before_clean_stop,
    marker_of,
    write_life,
)
from broker.log.log_directory import CLEAN_SHUTDOWN
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


async def test_a_stop_after_the_registration_leaves_this_life() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        epoch = node.role.broker_epoch
        assert epoch is not None
    assert await left_behind(disk) == Life(epoch, is_unharmed=True)
