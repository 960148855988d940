"""A kill is told from a loss of power by the life of the system below."""

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.broker_life import (
    FILE_NAME,
    Life,
    last_life_from_the_wire,
    life_before_clean_stop,
    marker_of,
    previous_epoch_on_the_wire,
    read_life,
    write_life,
)

NO_LIFE = Life(-1, is_unharmed=False)


async def disk_with_life(boot_id: str) -> MemoryDisk:
    disk = MemoryDisk()
    await disk.make_directory("")
    await write_life(disk, 7, boot_id)
    return disk


async def test_what_a_killed_process_wrote_is_all_there() -> None:
    disk = await disk_with_life("monday")
    disk.process_crash()
    assert await read_life(disk, "monday") == Life(7, is_unharmed=True)


@pytest.mark.parametrize(("before", "now"), [("monday", "tuesday"), ("", ""), ("monday", "")])
async def test_after_a_start_of_the_system_records_may_be_missing(before: str, now: str) -> None:
    assert await read_life(await disk_with_life(before), now) == Life(7, is_unharmed=False)


async def test_a_loss_of_power_does_not_lose_whose_life_it_was() -> None:
    disk = await disk_with_life("monday")
    disk.power_loss()
    assert await read_life(disk, "tuesday") == Life(7, is_unharmed=False)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"bootId":"monday"}'])
async def test_a_damaged_file_vouches_for_nothing(content: bytes) -> None:
    disk = await disk_with_life("monday")
    await disk.replace(FILE_NAME, content)
    assert await read_life(disk, "monday") == NO_LIFE


async def test_before_the_first_life_there_is_no_epoch() -> None:
    assert await read_life(MemoryDisk(), "monday") == NO_LIFE


@pytest.mark.parametrize("life", [NO_LIFE, Life(7, True), Life(7, False)])
def test_the_marker_of_a_clean_stop_carries_the_life(life: Life) -> None:
    assert life_before_clean_stop(marker_of(life)) == life


def test_a_marker_that_cannot_be_read_names_no_life() -> None:
    assert life_before_clean_stop(b"left by something else") == NO_LIFE


@pytest.mark.parametrize(
    "life", [NO_LIFE, Life(0, True), Life(0, False), Life(9, True), Life(9, False)]
)
def test_a_registration_carries_the_life_before(life: Life) -> None:
    assert last_life_from_the_wire(previous_epoch_on_the_wire(life)) == life
