"""What a node says about its directories when it starts and stops."""

from __future__ import annotations

import logging

import pytest

from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from tests.nodes import create_topic, formatted, produce, running_node, wire
from tests.unit.broker.log.builders import batch


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= level]


async def written() -> tuple[MemoryDisk, dict[str, Disk]]:
    disk = MemoryDisk()
    disks: dict[str, Disk] = {"data": await formatted(disk)}
    async with running_node(disks=disks) as node, wire(node) as connection:
        await create_topic(connection, "t")
        await produce(connection, batch(b"a"))
    return disk, disks


async def test_a_clean_stop_is_told_and_the_next_start_has_nothing_to_tell(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    _, disks = await written()
    assert "data was stopped cleanly" in lines(caplog, logging.INFO)
    caplog.clear()
    async with running_node(disks=disks):
        assert lines(caplog) == []


async def test_an_unclean_stop_is_told_at_the_next_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk, disks = await written()
    await disk.delete(".kafka_cleanshutdown")
    async with running_node(disks=disks):
        assert lines(caplog) == ["data was not stopped cleanly; its logs are checked"]


async def test_a_missing_partition_is_told_with_what_it_held(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk, disks = await written()
    await disk.delete_directory("t-0")
    async with running_node(disks=disks):
        assert lines(caplog) == [
            "data/t-0 is missing, with records up to offset 1; restore it from a copy",
            "data lost records, so the broker begins anew in the cluster: t-0",
        ]
