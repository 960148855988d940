"""Aborted data, markers and producers in a compaction."""

from __future__ import annotations

from dataclasses import replace

from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from tests.unit.broker.log.builders import (
    NOW_MS,
    Clock,
)
from tests.unit.broker.log.compacting import (
    COMPACT,
    DAY_MS,
    after_crash,
    compact_now,
    compacted,
    end,
    headers,
    open_compacted,
    pairs,
    state,
    without_snapshots,
    write,
)


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


async def test_markers_of_several_transactions_are_not_taken_for_one_key(disk: Disk) -> None:
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


async def test_a_marker_stays_while_data_of_its_transaction_do_in_another_segment(
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


async def test_an_aborted_value_does_not_push_out_a_committed_one(disk: Disk) -> None:
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
