"""A marker that is not replicated yet decides nothing, however the log came to know of it."""

from __future__ import annotations

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log.log import Log
from tests.unit.broker.log.builders import (
    append,
    append_rolling,
    batch,
    crashed,
    end_transaction,
    open_log,
    reopened,
)

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=50)


async def ended_beyond_the_mark(disk: Disk, *, committed: bool = True) -> Log:
    """A transaction from offset 2 on that ends at 4, and a high watermark of 3."""
    log = await open_log(disk)
    append(log, batch(b"a", b"b"))
    append(log, batch(b"c", producer_id=7, sequence=0, transactional=True))
    log.advance_high_watermark(3)
    append(log, batch(b"d"))
    end_transaction(log, 7, committed=committed)
    assert (log.high_watermark, log.last_stable_offset) == (3, 2)
    return log


@pytest.mark.parametrize("committed", [True, False])
async def test_a_clean_start_knows_what_is_undecided(disk: Disk, committed: bool) -> None:
    log = await ended_beyond_the_mark(disk, committed=committed)
    await log.close()
    log = await reopened(log)
    assert (log.high_watermark, log.last_stable_offset) == (3, 2)
    log.advance_high_watermark(5)
    assert log.last_stable_offset == 5
    await log.close()


async def test_a_start_after_a_crash_knows_although_a_snapshot_lies_beyond(disk: Disk) -> None:
    log = await ended_beyond_the_mark(disk)
    await log.roll()
    append(log, batch(b"e"))
    await log.flush()
    log = await crashed(log)
    assert (log.high_watermark, log.last_stable_offset) == (3, 2)
    await log.close()


async def test_a_cut_behind_the_marker_leaves_it_undecided(disk: Disk) -> None:
    log = await ended_beyond_the_mark(disk)
    await log.roll()
    append(log, batch(b"e"))
    append(log, batch(b"f"))
    await log.flush()
    await log.truncate_to(6)
    assert (log.high_watermark, log.last_stable_offset) == (3, 2)
    await log.truncate_to(4)
    assert log.last_stable_offset == 2
    assert list(log.producers.open_transactions) == [2]
    await log.close()


async def test_the_beginning_of_a_transaction_is_found_segments_before(disk: Disk) -> None:
    log = await open_log(disk, config=SMALL)
    append(log, batch(b"a", producer_id=7, sequence=0, transactional=True))
    for number in range(20):
        await append_rolling(log, batch(b"%d" % number, producer_id=1, sequence=number))
    log.advance_high_watermark(15)
    end_transaction(log, 7, committed=False)
    await log.close()
    log = await reopened(log)
    assert len(log.segments) > 3
    assert (log.high_watermark, log.last_stable_offset) == (15, 0)
    await log.close()


async def test_what_is_undecided_is_not_forgotten_for_its_silence(disk: Disk) -> None:
    log = await ended_beyond_the_mark(disk)
    day_ms = log.uptime_ms() + 10 * log.config.producer_id_expiration_ms
    assert log.producers.expire(day_ms, log.config.producer_id_expiration_ms) == 0
    log.advance_high_watermark(5)
    assert log.producers.expire(day_ms, log.config.producer_id_expiration_ms) == 1
    await log.close()
