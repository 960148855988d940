"""What a start makes of the files it finds."""

from __future__ import annotations

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log import file_names
from broker.log.log import Log
from tests.unit.broker.log.builders import (
    append,
    append_rolling,
    batch,
    crashed,
    open_log,
    reopened,
    values,
)

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=50)


async def ten(disk: Disk) -> Log:
    log = await open_log(disk, config=SMALL)
    for number in range(10):
        await append_rolling(log, batch(b"%d" % number, producer_id=1, sequence=number))
    assert len(log.segments) > 2
    return log


def expected(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@pytest.mark.parametrize("lost", [1, 20, 60, 80])
async def test_a_torn_last_batch_is_cut_off(disk: Disk, lost: int) -> None:
    log = await ten(disk)
    log.active.file.truncate(log.active.file.size - lost)
    log = await crashed(log)
    assert await values(log) == expected(log.end_offset)
    assert log.end_offset in (8, 9)
    assert append(log, batch()).base_offset == log.end_offset - 1
    await log.close()


@pytest.mark.parametrize("junk", [b"\x00" * 500, b"junk", b"\xff" * 100])
async def test_junk_after_the_last_batch_is_cut_off(disk: Disk, junk: bytes) -> None:
    log = await ten(disk)
    size = log.active.size
    log.active.file.append((junk,))
    log = await crashed(log)
    assert await values(log) == expected(10)
    assert log.active.file.size == size
    await log.close()


@pytest.mark.parametrize("kind", [*file_names.INDEXES, file_names.SNAPSHOT, "epochs"])
@pytest.mark.parametrize("damage", ["missing", "junk"])
async def test_everything_but_the_log_can_be_rebuilt(disk: Disk, kind: str, damage: str) -> None:
    log = await ten(disk)
    await log.close()
    before = [(s.offsets.entries(), s.times.entries()) for s in log.segments]
    for name in await disk.list(log.directory):
        if name.endswith(kind) or (kind == "epochs" and name == file_names.EPOCHS):
            path = f"{log.directory}/{name}"
            if damage == "missing":
                await disk.delete(path)
            else:
                await disk.replace(path, b"junk!")
    log = await reopened(log)
    assert await values(log) == expected(10)
    assert log.producers.producers[1].last_sequence == 9
    assert [s.offsets.entries() for s in log.segments] == [offsets for offsets, _ in before]
    assert [s.largest_timestamp for s in log.segments] == [times[-1][0] for _, times in before]
    assert append(log, batch(producer_id=1, sequence=9)).duplicate
    await log.close()


async def test_leftovers_of_a_crash_are_removed(disk: Disk) -> None:
    log = await ten(disk)
    await log.close()
    leftovers = ("00000000000000000000.log.deleted", "00000000000000000099.index", "x.index.tmp")
    for name in leftovers:
        await disk.replace(f"{log.directory}/{name}", b"x")
    log = await reopened(log)
    names = await disk.list(log.directory)
    assert not [name for name in leftovers if name in names]
    assert await values(log) == expected(10)
    await log.close()


async def test_a_segment_behind_a_lost_tail_is_dropped(memory: MemoryDisk) -> None:
    """The older segment lost whole batches before it was synced: a log has no holes."""
    log = await open_log(memory, config=SMALL)
    for number in range(3):
        append(log, batch(b"%d" % number))
    await log.flush()
    cut = log.active.size
    append(log, batch(b"3"))
    memory.fail("fdatasync")
    await log.roll()
    await log.settle()
    assert log.failure is not None
    memory.heal()
    log.segments[0].file.truncate(cut)
    log.active.file.append((batch(b"4", offset=4),))
    log.abandon()
    log = await reopened(log, was_clean=False)
    assert await values(log) == [b"0", b"1", b"2"]
    assert len(log.segments) == 1
    await log.close()


async def test_an_index_of_an_earlier_life_vouches_for_nothing(memory: MemoryDisk) -> None:
    """A clean stop wrote index files of the last segment; what came later is not in them."""
    log = await open_log(memory, config=SMALL)
    append(log, batch(b"0"))
    await log.close()
    log = await reopened(log)
    assert log.active.path(file_names.OFFSET_INDEX) not in [
        f"{log.directory}/{name}" for name in await memory.list(log.directory)
    ]
    log.abandon()


async def test_a_clean_start_reads_no_batch_that_the_index_covers(memory: MemoryDisk) -> None:
    log = await open_log(memory, config=LogConfig(index_interval_bytes=50))
    for number in range(100):
        append(log, batch(b"%d" % number))
    await log.close()
    first = log.segments[0].path(file_names.LOG)
    content = bytearray(await memory.read(first))
    content[70] ^= 1  # damage that only a scan would notice
    await memory.replace(first, bytes(content))
    log = await reopened(log)
    assert log.end_offset == 100
    await log.close()
