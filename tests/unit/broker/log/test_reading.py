"""What a fetch gets, and what it never gets."""

from __future__ import annotations

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import ColdReadError, Disk
from broker.disk.memory import MemoryDisk
from broker.log.log import Log
from broker.protocol.batch import CorruptBatchError, iterate_headers
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import append, append_rolling, batch, open_log, values

SIZE = len(batch(b"0123456789"))


async def ten_batches(disk: Disk) -> Log:
    """Offsets 0 to 9, an index entry for each batch but the first."""
    log = await open_log(disk, config=LogConfig(index_interval_bytes=1))
    for _ in range(10):
        append(log, batch(b"0123456789"))
    return log


def bases(log: Log, offset: int, max_bytes: int, up_to: int = 10) -> list[int]:
    piece = log.read(offset, max_bytes, up_to=up_to, at_least_one=True)
    assert piece is not None
    return [header.base_offset for _, header in iterate_headers(memoryview(piece.read()))]


async def test_a_slice_is_cut_where_a_batch_ends(disk: Disk) -> None:
    log = await ten_batches(disk)
    assert bases(log, 3, 2 * SIZE) == [3, 4]
    assert bases(log, 3, 3 * SIZE - 1) == [3, 4]
    await log.close()


async def test_nothing_at_or_above_the_bound_is_read(disk: Disk) -> None:
    log = await ten_batches(disk)
    assert bases(log, 3, 1 << 20, up_to=5) == [3, 4]
    assert log.read(5, 1 << 20, up_to=5, at_least_one=True) is None
    assert log.read(10, 1 << 20, up_to=10, at_least_one=True) is None
    await log.close()


async def test_a_batch_that_reaches_over_the_bound_is_left_out(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a"))
    append(log, batch(b"b", b"c", b"d"))
    assert bases(log, 0, 1 << 20, up_to=3) == [0]
    assert log.read(1, 1 << 20, up_to=3, at_least_one=True) is None
    await log.close()


async def test_the_first_batch_comes_whole_if_it_must(disk: Disk) -> None:
    log = await ten_batches(disk)
    assert bases(log, 3, 10) == [3]
    piece = log.read(3, 10, up_to=10, at_least_one=False)
    assert piece is not None
    assert len(piece) == 0
    await log.close()


async def test_an_offset_inside_a_batch_brings_the_batch(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a"))
    append(log, batch(b"b", b"c", b"d"))
    assert bases(log, 3, 1 << 20) == [1]
    await log.close()


async def test_offsets_outside_of_the_log_are_refused(disk: Disk) -> None:
    log = await ten_batches(disk)
    log.advance_high_watermark(10)
    await log.delete_records(4)
    for offset in (3, 11, -1):
        with pytest.raises(KafkaError) as refused:
            log.read(offset, 100, up_to=10, at_least_one=True)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    await log.close()


async def test_every_offset_is_found_by_index_and_walk(disk: Disk) -> None:
    config = LogConfig(index_interval_bytes=500, segment_bytes=3000)
    log = await open_log(disk, config=config)
    for _ in range(300):
        await append_rolling(log, batch(b"x"))
    for offset in range(300):
        assert bases(log, offset, 10, up_to=300) == [offset]
    await log.close()


async def test_cold_bytes_are_never_read_without_warming(memory: MemoryDisk) -> None:
    log = await ten_batches(memory)
    memory.chill()
    with pytest.raises(ColdReadError) as cold:
        log.read(3, 1000, up_to=10, at_least_one=True)
    await cold.value.warm()
    assert bases(log, 3, 1000) != []
    memory.chill()
    assert len(await values(log)) == 10
    assert memory.blocking_reads == 0
    await log.close()


async def test_a_slice_stays_true_when_the_log_is_cut_under_it(disk: Disk) -> None:
    log = await ten_batches(disk)
    piece = log.read(5, 1 << 20, up_to=10, at_least_one=True)
    assert piece is not None
    before = piece.read()
    await log.truncate_to(6)
    append(log, batch(b"other"))
    assert piece.read() == before
    with pytest.raises(CorruptBatchError):
        list(iterate_headers(memoryview(before[:-1])))
    await log.close()
