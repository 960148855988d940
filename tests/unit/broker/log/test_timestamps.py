"""Offsets by time, whatever order the timestamps have."""

from __future__ import annotations

from random import Random

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.protocol.compression import Codec
from tests.unit.broker.log.builders import append, append_rolling, batch, open_log

TINY = LogConfig(segment_bytes=500, index_interval_bytes=100)


@pytest.mark.parametrize("codec", list(Codec))
async def test_the_first_record_that_is_not_older_is_found(disk: Disk, codec: Codec) -> None:
    random = Random(3)
    log = await open_log(disk, config=TINY)
    times: list[int] = []
    for _ in range(40):
        time_ms = random.randrange(1000)
        count = random.randint(1, 3)
        await append_rolling(log, batch(*[b"x"] * count, time_ms=time_ms, codec=codec))
        times += [time_ms + number for number in range(count)]
    for wanted in range(0, 1010, 7):
        found = await log.find_by_timestamp(wanted, log.end_offset)
        expected = next((n for n, time_ms in enumerate(times) if time_ms >= wanted), None)
        assert (found.offset if found else None) == expected
        if found:
            assert found.timestamp_ms == times[found.offset]
    latest = await log.find_max_timestamp()
    assert latest is not None
    assert latest.offset == times.index(max(times))
    await log.close()


async def test_nothing_at_or_above_the_bound_is_found(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a", b"b", b"c", time_ms=100))
    found = await log.find_by_timestamp(101, 2)
    assert found is not None
    assert found.offset == 1
    assert await log.find_by_timestamp(101, 1) is None
    await log.close()


async def test_deleted_records_are_not_found(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(b"a", b"b", b"c", time_ms=100))
    log.advance_high_watermark(3)
    await log.delete_records(2)
    found = await log.find_by_timestamp(0, 3)
    assert found is not None
    assert found.offset == 2
    await log.close()


async def test_an_empty_log_has_no_times(disk: Disk) -> None:
    log = await open_log(disk)
    assert await log.find_by_timestamp(0, 0) is None
    assert await log.find_max_timestamp() is None
    await log.close()
