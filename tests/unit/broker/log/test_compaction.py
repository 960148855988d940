"""What a compaction keeps, on both disks; the numbers are rows of the list of known bugs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.compaction import compact
from broker.log.compaction_choice import find_dirt
from broker.protocol.batch import CorruptBatchError
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
    state,
    without_snapshots,
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


async def test_nothing_is_compacted_from_an_open_transaction_on(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"a", b"1"))
    write(log, (b"a", b"2"))
    await log.roll()
    write(log, (b"a", b"3"), producer_id=1, sequence=0, transactional=True)
    await log.roll()
    write(log, (b"a", b"4"))
    await compacted(log)
    assert [value for _, value in await pairs(log)] == [b"2", b"3", b"4"]
    await log.close()


async def test_k01_a_tombstone_stays_until_its_readers_had_time(disk: Disk) -> None:
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


async def test_k03_markers_of_several_transactions_are_not_taken_for_one_key(disk: Disk) -> None:
    log = await open_compacted(disk)
    for producer_id in (1, 2):
        write(log, (b"p%d" % producer_id, b"x"), producer_id=producer_id, sequence=0,
              transactional=True)  # fmt: skip
        end(log, producer_id, committed=False)
    for producer_id in (3, 4):
        write(log, (b"p%d" % producer_id, b"x"), producer_id=producer_id, sequence=0,
              transactional=True)  # fmt: skip
        end(log, producer_id, committed=True)
    await compacted(log)
    markers = [header.base_offset for header in await headers(log) if header.is_control]
    assert markers == [1, 3, 5, 7]
    log = await after_crash(log)
    assert await state(log) == {b"p3": b"x", b"p4": b"x"}
    assert log.last_stable_offset == log.end_offset
    await log.close()


async def test_k04_a_marker_stays_while_data_of_its_transaction_do_in_another_segment(
    disk: Disk,
) -> None:
    clock = Clock()
    log = await open_compacted(disk, clock, config=replace(COMPACT, segment_bytes=150))
    write(log, (b"a", b"1"), producer_id=1, sequence=0, transactional=True)
    await log.roll()
    write(log, (b"b", b"1"), producer_id=1, sequence=1, transactional=True)
    await log.roll()
    end(log, 1, committed=True)
    await log.roll()
    write(log, (b"x", b"1"))
    for number in range(4):
        await compacted(log, cleaned_to=0 if number == 0 else log.end_offset - 1)
        clock.time_ms += 2 * DAY_MS
        write(log, (b"filler%d" % number, b"1"))
    assert len(log.segments) > 2, "the groups must have stayed apart for this to mean anything"
    assert 2 in [header.base_offset for header in await headers(log) if header.is_control]
    await without_snapshots(log)
    log = await after_crash(log)
    assert not log.producers.open_transactions
    assert log.last_stable_offset == log.end_offset
    table = await state(log)
    assert (table[b"a"], table[b"b"]) == (b"1", b"1")
    await log.close()


async def test_a_spent_marker_goes_after_the_delete_horizon(memory: MemoryDisk) -> None:
    clock = Clock()
    log = await open_compacted(memory, clock)
    write(log, (b"a", b"1"), producer_id=1, sequence=0, transactional=True)
    end(log, 1, committed=False)
    write(log, (b"a", b"2"))
    log.producers.producers.clear()  # The producer has expired, so nobody needs its last batch.
    await compacted(log)
    assert await pairs(log) == [(b"a", b"2")]
    assert [h.is_control for h in await headers(log)] == [True, False]
    write(log, (b"b", b"1"))
    await compacted(log, cleaned_to=3)
    marker = (await headers(log))[0]
    assert marker.is_control
    assert marker.delete_horizon_ms == NOW_MS + DAY_MS
    clock.time_ms += DAY_MS
    write(log, (b"c", b"1"))
    await compacted(log, cleaned_to=4)
    assert not any(header.is_control for header in await headers(log))
    await log.close()


async def test_k08_an_aborted_value_does_not_push_out_a_committed_one(disk: Disk) -> None:
    log = await open_compacted(disk)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"), producer_id=1, sequence=0, transactional=True)
    end(log, 1, committed=False)
    await compacted(log)
    assert await state(log) == {b"k": b"1"}
    log = await after_crash(log)
    assert await state(log) == {b"k": b"1"}
    assert (b"k", b"2") not in await pairs(log)
    await log.close()


async def test_an_abort_marker_beyond_the_compacted_part_still_counts(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"), producer_id=1, sequence=0, transactional=True)
    await log.roll()
    end(log, 1, committed=False)
    log.advance_high_watermark(log.end_offset)
    await log.flush()
    await compact_now(log)
    assert await state(log) == {b"k": b"1"}
    await log.close()


async def test_k07_the_end_of_the_log_survives_the_compaction_of_its_tail(disk: Disk) -> None:
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


async def test_the_last_sequence_number_of_a_producer_survives(disk: Disk) -> None:
    log = await open_compacted(disk)
    write(log, (b"k", b"1"), (b"j", b"1"), producer_id=7, sequence=0)
    write(log, (b"k", b"2"), (b"j", b"2"), producer_id=7, sequence=2)
    write(log, (b"k", b"3"), (b"j", b"3"))
    await compacted(log)
    empty = [header for header in await headers(log) if header.record_count == 0]
    assert [(h.producer_id, h.base_offset, h.last_sequence) for h in empty] == [(7, 2, 3)]
    await without_snapshots(log)
    log = await after_crash(log)
    assert write(log, (b"k", b"2"), (b"j", b"2"), producer_id=7, sequence=2) == 2
    assert write(log, (b"k", b"4"), producer_id=7, sequence=4) == 6
    await log.close()


async def test_an_emptied_transactional_batch_keeps_its_marker(memory: MemoryDisk) -> None:
    clock = Clock()
    log = await open_compacted(memory, clock)
    write(log, (b"k", b"1"), producer_id=7, sequence=0, transactional=True)
    end(log, 7, committed=False)
    for number in range(3):
        write(log, (b"k", b"%d" % number))
        await compacted(log, cleaned_to=log.end_offset - 1 if number else 0)
        clock.time_ms += 2 * DAY_MS
    assert [entry.producer_id for entry in log.aborted_transactions(0, log.end_offset)] == [7]
    await without_snapshots(log)
    log = await after_crash(log)
    assert log.last_stable_offset == log.end_offset
    assert write(log, (b"k", b"9"), producer_id=7, sequence=1, transactional=True) >= 0
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


@pytest.mark.parametrize("moment", [("create", ".log.cleaned"), ("fdatasync", ".log.cleaned")])
@pytest.mark.parametrize("cut_at", [3, 5])
async def test_s07_what_is_truncated_during_a_compaction_does_not_come_back(
    memory: MemoryDisk, moment: tuple[str, str], cut_at: int
) -> None:
    log = await open_compacted(memory)
    for number in range(6):
        write(log, (b"k%d" % (number % 2), b"%d" % number))
        if number != 4:
            await log.roll()
    await settle(log)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        if operation == moment[0] and path.endswith(moment[1]):
            reached.set()
            await go_on.wait()

    memory.before = hold
    compacting = asyncio.create_task(compact_now(log))
    await reached.wait()
    memory.before = None
    await log.truncate_to(cut_at)
    # Refilled to the same size and sealed again: looking at sizes would not show it.
    for _ in range(cut_at, 6):
        write(log, (b"k1", b"N"))
    await settle(log)
    go_on.set()
    result = await compacting
    assert not result.is_complete
    expected = [b"%d" % number for number in range(cut_at)] + [b"N"] * (6 - cut_at)
    assert [value for _, value in await pairs(log)] == expected
    names = await memory.list(log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
    await log.close()


async def test_s07_a_truncation_waits_for_a_swap_that_has_begun(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    for number in range(6):
        write(log, (b"k", b"%d" % number))
        await log.roll()
    await settle(log)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        if operation == "rename" and not reached.is_set():
            reached.set()
            await go_on.wait()

    memory.before = hold
    compacting = asyncio.create_task(compact_now(log))
    await reached.wait()
    truncating = asyncio.create_task(log.truncate_to(3))
    await asyncio.sleep(0)
    assert not truncating.done()
    go_on.set()
    assert (await compacting).is_complete
    await truncating
    assert log.end_offset <= 3
    assert await pairs(log) == []
    log = await after_crash(log)
    assert await pairs(log) == []
    await log.close()


async def test_a_cancelled_compaction_finishes_a_swap_that_has_begun(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"))
    await settle(log)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        if operation == "rename" and not reached.is_set():
            reached.set()
            await go_on.wait()

    memory.before = hold
    compacting = asyncio.create_task(compact_now(log))
    await reached.wait()
    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    go_on.set()
    async with log.changing:
        assert await pairs(log) == [(b"k", b"2")]
    await log.close()


async def test_a_slice_taken_before_a_compaction_can_still_be_sent(disk: Disk) -> None:
    log = await open_compacted(disk)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"))
    await settle(log)
    piece = await read_slice(log, 0)
    assert piece is not None
    before = piece.read()
    await compact_now(log)
    assert piece.read() == before
    await log.close()


async def test_cold_segments_are_compacted_without_stopping_the_loop(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    for number in range(5):
        write(log, (b"k", b"%d" % number * 30_000))
        await log.roll()
    await settle(log)
    memory.chill()
    await compact_now(log)
    assert memory.blocking_reads == 0
    await log.close()


async def test_the_loop_gets_its_turn_inside_a_large_batch(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, *((b"key %d" % (number % 50), b"v") for number in range(20_000)))
    await settle(log)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await compact(log, find_dirt(log, 0, NOW_MS), breather=Breather(slice_ms=0))
    counting.cancel()
    assert turns > 100
    assert len(await pairs(log)) == 50
    await log.close()


async def test_a_damaged_segment_is_not_compacted_and_not_touched(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1"))
    write(log, (b"k", b"2"))
    await settle(log)
    path = log.segments[0].path(".log")
    content = bytearray(await memory.read(path))
    content[-1] ^= 1
    file = log.segments[0].file
    file.truncate(0)
    file.append([content])
    with pytest.raises(CorruptBatchError):
        await compact_now(log)
    assert await memory.read(path) == content
    assert not [n for n in await memory.list(log.directory) if n.endswith(".cleaned")]
    await log.close()


async def test_a_full_disk_stops_the_compaction_but_not_the_log(memory: MemoryDisk) -> None:
    log = await open_compacted(memory)
    write(log, (b"k", b"1" * 1000))
    write(log, (b"j", b"2" * 1000))
    await settle(log)
    memory.capacity_bytes = 3000
    with pytest.raises(OSError, match="No space left"):
        await compact_now(log)
    assert log.failure is None
    assert not [n for n in await memory.list(log.directory) if n.endswith(".cleaned")]
    memory.capacity_bytes = None
    assert (await compact_now(log)).is_complete
    await log.close()
