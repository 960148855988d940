"""The metadata log: what was flushed comes back, and snapshot and log fit after every crash."""

from __future__ import annotations

import errno
from random import Random

import pytest

from broker.disk.interface import FileSlice
from broker.disk.memory import MemoryDisk
from broker.metadata.changes import Change
from broker.metadata.image import Image
from broker.protocol.errors import KafkaError
from broker.quorum.metadata_log import DIRECTORY, MetadataLog
from broker.raft.events import SnapshotId
from tests.unit.broker.log.builders import Clock
from tests.unit.broker.quorum.metadata import content_of, image_of, some_of_everything, topic

SEGMENT_BYTES = 1 << 20


async def opened(disk: MemoryDisk, segment_bytes: int = SEGMENT_BYTES) -> MetadataLog:
    return await MetadataLog.open(disk, Clock(), segment_bytes)


async def all_changes(log: MetadataLog) -> list[Change]:
    found: list[Change] = []
    offset = log.start_offset
    while batches := await log.batches(offset, log.end_offset):
        for batch in batches:
            found += batch.changes
            assert batch.end_offset > offset
            offset = batch.end_offset
    assert offset == log.end_offset
    return found


async def test_a_new_log_is_empty() -> None:
    log = await opened(MemoryDisk())
    assert (log.start_offset, log.end_offset, log.last_epoch) == (0, 0, 0)
    assert log.snapshot_id is None
    assert await log.batches(0, 0) == []


async def test_what_was_flushed_is_there_after_a_loss_of_power() -> None:
    disk = MemoryDisk()
    log = await opened(disk)
    assert await log.append_leader_change(1, [1, 2, 3], 4) == 1
    assert await log.append(some_of_everything(), 4) == 7
    assert log.flushed_offset == 0
    assert await log.flush() == 7
    disk.power_loss()
    again = await opened(disk)
    assert (again.end_offset, again.flushed_offset, again.last_epoch) == (7, 7, 4)
    assert await all_changes(again) == some_of_everything()


async def test_batches_tell_their_epoch_and_where_they_end() -> None:
    log = await opened(MemoryDisk())
    await log.append_leader_change(1, [1], 1)
    await log.append([topic("a"), topic("b")], 1)
    await log.append_leader_change(1, [1], 2)
    await log.append([topic("c")], 2)
    told = [(each.end_offset, each.epoch, len(each.changes)) for each in await log.batches(0, 5)]
    assert told == [(1, 1, 0), (3, 1, 2), (4, 2, 0), (5, 2, 1)]
    assert [each.end_offset for each in await log.batches(1, 4)] == [3, 4]
    assert log.end_offset_for_epoch(1) == (1, 3)
    assert log.end_offset_for_epoch(9) == (2, 5)


@pytest.mark.parametrize("seed", range(12))
async def test_a_torn_tail_is_cut_to_whole_batches(seed: int) -> None:
    disk, dice = MemoryDisk(), Random(seed)
    log = await opened(disk)
    await log.append([topic("kept"), topic("too")], 1)
    await log.flush()
    for number in range(5):
        await log.append([topic(f"x{number}"), topic(f"y{number}")], 1)
    disk.power_loss(dice)
    again = await opened(disk)
    changes = await all_changes(again)
    assert changes[:2] == [topic("kept"), topic("too")]
    # Of a batch all comes back, or nothing.
    assert again.end_offset == len(changes)
    assert len(changes) % 2 == 0
    for number, change in enumerate(changes[2:]):
        assert change == topic(f"{'xy'[number % 2]}{number // 2}")
    assert await again.append([topic("next")], 2) == again.end_offset


async def test_a_truncation_takes_what_was_flushed_with_it() -> None:
    disk = MemoryDisk()
    log = await opened(disk)
    for name in "abc":
        await log.append([topic(name)], 1)
    await log.flush()
    await log.truncate_to(1)
    assert (log.end_offset, log.flushed_offset) == (1, 1)
    await log.append([topic("d")], 2)
    assert log.flushed_offset == 1
    await log.flush()
    disk.power_loss()
    assert await all_changes(await opened(disk)) == [topic("a"), topic("d")]


async def test_records_of_the_leader_are_taken_byte_for_byte() -> None:
    leader, follower = await opened(MemoryDisk()), await opened(MemoryDisk())
    await leader.append_leader_change(1, [1, 2], 3)
    await leader.append(some_of_everything(), 3)
    piece = leader.read(0, 1 << 20)
    assert isinstance(piece, FileSlice)
    await follower.append_fetched(memoryview(piece.read()))
    assert (follower.end_offset, follower.last_epoch) == (leader.end_offset, 3)
    assert await all_changes(follower) == some_of_everything()


async def test_segments_are_rolled_and_read_as_one() -> None:
    disk = MemoryDisk()
    log = await opened(disk, segment_bytes=2000)
    for number in range(40):
        await log.append([topic(f"t{number}")], 1)
    names = [name for name in await disk.list(DIRECTORY) if name.endswith(".log")]
    assert len(names) > 3
    assert await all_changes(log) == [topic(f"t{number}") for number in range(40)]


async def log_with(disk: MemoryDisk, names: str) -> MetadataLog:
    log = await opened(disk)
    for name in names:
        await log.append([topic(name)], 1)
    await log.flush()
    log.advance_high_watermark(log.end_offset)
    return log


async def reopened(disk: MemoryDisk) -> tuple[MetadataLog, Image]:
    """And the image that a start makes of snapshot and log."""
    log = await opened(disk)
    image = await log.snapshots.load()
    for change in await all_changes(log):
        image.apply(change)
    return log, image


async def test_behind_a_snapshot_the_log_holds_only_what_follows_it() -> None:
    disk = MemoryDisk()
    log = await log_with(disk, "abc")
    await log.write_snapshot(image_of(topic("a"), topic("b")), SnapshotId(2, 1))
    assert (log.start_offset, log.snapshot_id) == (2, SnapshotId(2, 1))
    disk.power_loss()
    again, image = await reopened(disk)
    assert (again.start_offset, again.end_offset) == (2, 3)
    assert list(image.topics) == ["a", "b", "c"]


async def test_a_crash_between_a_snapshot_and_the_cut_of_the_log_repeats_nothing() -> None:
    disk = MemoryDisk()
    log = await log_with(disk, "abc")
    await log.snapshots.write(image_of(topic("a"), topic("b")), SnapshotId(2, 1), 5)
    disk.power_loss()
    again, image = await reopened(disk)
    assert again.start_offset == 2
    assert content_of(image) == content_of(image_of(*map(topic, "abc")))


async def test_a_crash_between_a_fetched_snapshot_and_the_log_starts_over_behind_it() -> None:
    disk = MemoryDisk()
    leader = await log_with(MemoryDisk(), "abcdef")
    await leader.write_snapshot(image_of(*map(topic, "abcdef")), SnapshotId(6, 4))
    log = await log_with(disk, "ax")
    await log.snapshots.store(SnapshotId(6, 4), await leader.snapshots.read(SnapshotId(6, 4)))
    disk.power_loss()
    again, image = await reopened(disk)
    assert (again.start_offset, again.end_offset, again.flushed_offset) == (6, 6, 6)
    assert again.last_epoch == 4
    assert list(image.topics) == ["a", "b", "c", "d", "e", "f"]
    assert await again.append([topic("g")], 5) == 7


async def test_a_log_that_starts_over_knows_the_snapshots_epoch() -> None:
    disk = MemoryDisk()
    log = await log_with(disk, "ab")
    await log.snapshots.write(image_of(topic("z")), SnapshotId(9, 3), 5)
    await log.start_over_at_snapshot()
    assert (log.start_offset, log.end_offset, log.flushed_offset) == (9, 9, 9)
    assert log.last_epoch == 3
    assert log.end_offset_for_epoch(3) == (3, 9)
    assert log.end_offset_for_epoch(2) == (2, 9)


async def test_a_little_room_is_enough_after_a_full_disk() -> None:
    disk = MemoryDisk()
    log = await log_with(disk, "a")
    disk.capacity_bytes = 0
    for _ in range(2):
        with pytest.raises(Exception, match="No space left") as refused:
            await log.append([topic("b")], 1)
        assert isinstance(refused.value.__cause__, OSError)
    disk.capacity_bytes = 16 << 20
    assert await log.append([topic("b")], 1) == 2


async def test_a_disk_that_was_full_while_the_log_started_over_is_tried_again() -> None:
    disk = MemoryDisk()
    log = await log_with(disk, "ab")
    await log.snapshots.write(image_of(topic("z")), SnapshotId(9, 3), 5)
    disk.fail("create", f"{DIRECTORY}/*9.log", error=errno.ENOSPC, times=2)
    for _ in range(2):
        with pytest.raises((OSError, KafkaError), match="No space left"):
            await log.start_over_at_snapshot()
    await log.start_over_at_snapshot()
    assert (log.start_offset, log.end_offset, log.flushed_offset) == (9, 9, 9)
    assert await log.append([topic("g")], 5) == 10


async def test_while_a_log_is_cut_what_is_flushed_lies_within_it() -> None:
    disk = MemoryDisk()
    log = await log_with(disk, "abc")
    await log.flush()
    seen: list[tuple[int, int]] = []

    async def look(operation: str, path: str) -> None:
        seen.append((log.flushed_offset, log.end_offset))

    disk.before = look
    await log.truncate_to(1)
    assert {end for _, end in seen} == {3, 1}
    assert all(flushed <= end for flushed, end in seen)


async def test_a_batch_that_is_cut_off_as_a_whole_is_not_counted_as_flushed() -> None:
    log = await log_with(MemoryDisk(), "a")
    await log.append([topic("b"), topic("c")], 1)
    await log.flush()
    await log.truncate_to(2)
    assert (log.end_offset, log.flushed_offset) == (1, 1)
