"""A kill is told from a loss of power by the life of the system below."""

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.broker_life import (
    FILE_NAME,
    UNKNOWN_BROKER_EPOCH,
    epoch_if_unharmed,
    epoch_in_marker,
    marker_of,
    write_life,
)


async def disk_with_life(boot_id: str) -> MemoryDisk:
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, boot_id)
    return disk


async def test_what_a_killed_process_wrote_is_all_there() -> None:
    disk = await disk_with_life("monday")
    disk.process_crash()
    assert await epoch_if_unharmed(disk, "monday") == 7


@pytest.mark.parametrize(("before", "now"), [("monday", "tuesday"), ("", ""), ("monday", "")])
async def test_after_a_start_of_the_system_nothing_is_known(before: str, now: str) -> None:
    assert await epoch_if_unharmed(await disk_with_life(before), now) == UNKNOWN_BROKER_EPOCH


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"bootId":"monday"}'])
async def test_a_damaged_file_vouches_for_nothing(content: bytes) -> None:
    disk = await disk_with_life("monday")
    await disk.replace(FILE_NAME, content)
    assert await epoch_if_unharmed(disk, "monday") == UNKNOWN_BROKER_EPOCH


async def test_before_the_first_life_there_is_no_epoch() -> None:
    assert await epoch_if_unharmed(MemoryDisk(), "monday") == UNKNOWN_BROKER_EPOCH


def test_the_marker_of_a_clean_stop_carries_the_epoch() -> None:
    assert epoch_in_marker(marker_of(7)) == 7
    assert epoch_in_marker(b"left by something else") == UNKNOWN_BROKER_EPOCH
