"""What a compaction keeps, on both disks; the numbers are rows of the list of known bugs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.compaction_choice import find_dirt
from broker.protocol.compression import Codec
from tests.unit.broker.log.builders import (
    NOW_MS,
    Clock,
    append,
    batch,
    read_all,
    read_slice,
    records_of,
)
from tests.unit.broker.log.compacting import (
    COMPACT,
    DAY_MS,
    after_crash,
    committed,
    compact_now,
    compacted,
    end,
    headers,
    open_compacted,
    pairs,
    settle,
    write,
)


async def test_of_every_key_the_last_value_stays_at_its_offset(disk: Disk) -> None:
    log = await open_compacted(disk)
    write(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    write(log, (b"c", b"1"), (b"b", b"2"))
    result = await compacted(log)
    assert await committed(log) == [(2, b"a", b"2"), (3, b"c", b"1"), (4, b"b", b"2")]
    assert result.is_complete
    assert result.cleaned_to == 5
    assert result.bytes_after < result.bytes_before
    assert log.end_offset == 5
    await log.close()


@pytest.mark.parametrize("codec", list(Codec))
async def test_a_batch_is_rewritten_in_its_own_codec(disk: Disk, codec: Codec) -> None:
    log = await open_compacted(disk)
    write(log, (b"a", b"1" * 500), (b"b", b"1"), codec=codec, time_ms=NOW_MS - 10)
    write(log, (b"b", b"2"))
    await compacted(log)
    first, *_ = await read_all(log)
    assert first[0].codec == codec
    assert (first[0].base_offset, first[0].last_offset, first[0].record_count) == (0, 1, 1)
    assert first[0].max_timestamp == NOW_MS - 10
    assert [r.value for r in records_of([first])] == [b"1" * 500]
    await log.close()


async def test_records_without_a_key_are_dropped(memory: MemoryDisk) -> None:
    """They can only be from before the topic became a compacted one."""
    log = await open_compacted(memory, config=replace(COMPACT, cleanup_compact=False))
    append(log, batch(b"1", b"2", keys=[b"a", None]))
    log.config = COMPACT
    await compacted(log)
    assert await pairs(log) == [(b"a", b"1")]
    await log.close()


async def test_a_compacted_log_is_the_same_after_a_clean_stop_and_after_a_crash(
    disk: Disk,
) -> None:
    log = await open_compacted(disk)
    for number in range(40):
        write(log, (b"k%d" % (number % 7), b"%d" % number))
        if number % 9 == 8:
            await log.roll()
    await compacted(log)
    write(log, (b"new", b"tail"))
    before = await read_all(log)
    log = await after_crash(log)
    assert await read_all(log) == before
    await log.close()
    log = await open_compacted(disk, was_clean=True)
    assert await read_all(log) == before
    await log.close()


async def test_small_neighbours_become_one_segment(disk: Disk) -> None:
    log = await open_compacted(disk)
    for number in range(5):
        write(log, (b"k", b"%d" % number))
        await log.roll()
    await compacted(log)
    assert [segment.base_offset for segment in log.segments] == [0, 5]
    assert await committed(log) == [(4, b"k", b"4")]
    names = await disk.list(log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
    assert "00000000000000000001.log" not in names
    await log.close()


async def test_every_offset_can_still_be_asked_for(disk: Disk) -> None:
    log = await open_compacted(disk)
    for number in range(6):
        write(log, (b"k", b"%d" % number))
        await log.roll()
    write(log, (b"tail", b"t"))
    await compacted(log)
    for offset in range(log.end_offset):
        piece = await read_slice(log, offset)
        assert piece is not None
        assert len(piece) > 0
    await log.close()


async def test_the_active_segment_and_what_is_not_replicated_are_left_alone(
    memory: MemoryDisk,
) -> None:
    log = await open_compacted(memory)
    write(log, (b"a", b"1"))
    write(log, (b"a", b"2"))
    await log.roll()
    write(log, (b"a", b"3"))
    await log.roll()
    await log.flush()
    write(log, (b"a", b"4"))
    log.advance_high_watermark(2)
    assert [s.base_offset for s in find_dirt(log, 0, NOW_MS).segments] == [0]
    await compact_now(log)
    assert [value for _, value in await pairs(log)] == [b"2", b"3", b"4"]
    log.advance_high_watermark(log.end_offset)
    assert [s.base_offset for s in find_dirt(log, 0, NOW_MS).segments] == [0, 2]
    await log.close()


async def test_a_segment_that_is_not_synced_yet_is_left_alone(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"a", b"1"))
    log.advance_high_watermark(1)
    await log.roll()
    assert find_dirt(log, 0, NOW_MS).segments == ()
    await log.flush()
    assert len(find_dirt(log, 0, NOW_MS).segments) == 1
    await log.close()


async def test_a_tombstone_stays_until_its_readers_had_time(disk: Disk) -> None:
    clock = Clock()
    log = await open_compacted(disk, clock)
    write(log, (b"a", b"1"))
    write(log, (b"a", None))
    write(log, (b"b", b"1"))
    await compacted(log)
    assert await pairs(log) == [(b"a", None), (b"b", b"1")]
    assert (await headers(log))[0].delete_horizon_ms == NOW_MS + DAY_MS
    clock.time_ms += DAY_MS // 2
    write(log, (b"c", b"1"))
    await compacted(log, cleaned_to=3)
    # A second pass neither drops it nor lets it wait longer.
    assert (b"a", None) in await pairs(log)
    assert (await headers(log))[0].delete_horizon_ms == NOW_MS + DAY_MS
    log = await after_crash(log)
    clock.time_ms += DAY_MS // 2
    write(log, (b"d", b"1"))
    await compacted(log, cleaned_to=4)
    assert await pairs(log) == [(b"b", b"1"), (b"c", b"1"), (b"d", b"1")]
    await log.close()


async def test_a_delete_horizon_leaves_the_timestamps_of_the_records_as_they_were(
    memory: MemoryDisk,
) -> None:
    log = await open_compacted(memory)
    write(log, (b"a", None), (b"b", b"1"), (b"c", b"1"), codec=Codec.ZSTD, time_ms=NOW_MS - 5000)
    write(log, (b"b", b"2"))
    await compacted(log)
    first, _ = await read_all(log)
    assert first[0].has_delete_horizon
    assert first[0].max_timestamp == NOW_MS - 4998
    times = [(r.offset, r.timestamp) for r in records_of([first])]
    assert times == [(0, NOW_MS - 5000), (2, NOW_MS - 4998)]
    await log.close()


async def test_the_end_of_the_log_survives_the_compaction_of_its_tail(disk: Disk) -> None:
    log = await open_compacted(disk)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"), producer_id=1, sequence=0, transactional=True)
    await log.roll()
    end(log, 1, committed=False)
    log.advance_high_watermark(log.end_offset)
    await log.flush()
    log.producers.producers.clear()  # The producer has expired, so nobody needs its last batch.
    await compact_now(log)
    assert await pairs(log) == [(b"k", b"1")]
    placeholder = (await headers(log))[1]
    assert (placeholder.last_offset, placeholder.record_count) == (1, 0)
    # Replayed, it must not open the transaction again.
    assert placeholder.producer_id == -1
    assert not placeholder.is_transactional
    # The active segment may be lost in a power failure.
    await disk.delete(log.active.path(".log"))
    log = await after_crash(log)
    assert log.end_offset == 2
    assert write(log, (b"k", b"3")) == 2
    assert log.last_stable_offset == 2
    await log.close()


async def test_more_keys_than_fit_take_several_passes(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    for round_number in range(3):
        for key in range(10):
            write(log, (b"k%d" % key, b"%d" % round_number))
    await settle(log)
    cleaned_to = 0
    passes = 0
    while cleaned_to < 30:
        result = await compact_now(log, cleaned_to=cleaned_to, max_keys=4)
        assert result.cleaned_to > cleaned_to
        cleaned_to = result.cleaned_to
        passes += 1
    assert passes > 3
    assert await pairs(log) == [(b"k%d" % key, b"2") for key in range(10)]
    await log.close()
