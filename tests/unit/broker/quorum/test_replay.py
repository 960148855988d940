"""What is committed comes into the image in its order, a batch at a time, and nothing else does."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from broker.disk.memory import MemoryDisk
from broker.metadata.changes import Change, TopicDeleted
from broker.metadata.image import ConflictError
from broker.protocol.errors import KafkaError
from broker.quorum.metadata_log import Committed, MetadataLog
from broker.quorum.replay import Replay
from broker.quorum.strangers import WrongVotersError
from broker.raft.events import SnapshotId
from tests.unit.broker.log.builders import Clock
from tests.unit.broker.quorum.metadata import content_of, image_of, topic
from tests.virtual_time import in_virtual_time

NEVER = 1 << 60


class Stage:
    """A replay of a log on a disk in memory, and what it told."""

    def __init__(
        self, log: MetadataLog, replay: Replay, told: list[Sequence[Change] | None]
    ) -> None:
        self.log = log
        self.replay = replay
        self.told = told

    @property
    def names(self) -> list[str]:
        return sorted(self.replay.image.topics)

    async def commit(self, *batches: Sequence[Change], epoch: int = 1) -> None:
        for batch in batches:
            await self.log.append(batch, epoch)
        await self.log.flush()
        self.log.advance_high_watermark(self.log.end_offset)
        await self.replay.committed(self.log.end_offset)
        await self.replay.until(self.log.end_offset)


@asynccontextmanager
async def replaying(
    disk: MemoryDisk | None = None, snapshot_after_bytes: int = NEVER
) -> AsyncIterator[Stage]:
    log = await MetadataLog.open(disk or MemoryDisk(), Clock(), 1 << 20)
    told: list[Sequence[Change] | None] = []
    image = await log.snapshots.load()
    replay = Replay(log, image, told.append, snapshot_after_bytes=snapshot_after_bytes)
    task = asyncio.ensure_future(replay.run())
    try:
        yield Stage(log, replay, told)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_nothing_is_applied_before_it_is_committed() -> None:
    async with replaying() as stage:
        await stage.log.append([topic("a")], 1)
        await stage.log.append([topic("b")], 1)
        await stage.replay.committed(1)
        await stage.replay.until(1)
        await asyncio.sleep(0)
        assert (stage.names, stage.replay.applied_offset) == (["a"], 1)
        assert stage.told == [[topic("a")]]


async def test_batches_are_applied_in_order_and_told_one_by_one() -> None:
    async with replaying() as stage:
        first, second = [topic("a"), topic("b")], [TopicDeleted("a", topic("a").topic_id)]
        await stage.commit(first, second, epoch=3)
        assert stage.told == [first, second]
        assert stage.names == ["b"]
        assert (stage.replay.applied_offset, stage.replay.applied_epoch) == (3, 3)


async def test_nobody_sees_a_half_of_a_batch() -> None:
    async with replaying() as stage:
        seen: set[int] = set()

        async def look() -> None:
            while True:
                seen.add(len(stage.replay.image.topics))
                await asyncio.sleep(0)

        looking = asyncio.ensure_future(look())
        await stage.commit(*([topic(f"{n}-{m}") for m in range(7)] for n in range(20)))
        looking.cancel()
        assert seen
        assert {count % 7 for count in seen} == {0}
        assert [len(each or ()) for each in stage.told] == [7] * 20


async def test_a_leader_change_moves_the_offset_and_tells_of_nothing() -> None:
    async with replaying() as stage:
        await stage.log.append_leader_change(1, [1], 5)
        await stage.replay.committed(1)
        await stage.replay.until(1)
        assert (stage.replay.applied_offset, stage.replay.applied_epoch) == (1, 5)
        assert stage.told == []


async def test_a_leader_of_other_voters_is_not_followed() -> None:
    log = await MetadataLog.open(MemoryDisk(), Clock(), 1 << 20)
    for voters, epoch in (([3, 1, 2], 1), ([1, 2], 2)):
        await log.append_leader_change(1, voters, epoch)
    replay = Replay(log, image_of(), lambda _: None, snapshot_after_bytes=NEVER, voters=(1, 2, 3))
    await replay.committed(2)
    with pytest.raises(WrongVotersError, match=r"names \[1, 2, 3\], but .* among \[1, 2\];"):
        await replay.run()
    assert replay.applied_offset == 1


async def test_a_watermark_that_goes_back_is_not_believed() -> None:
    async with replaying() as stage:
        await stage.commit([topic("a")], [topic("b")])
        await stage.replay.committed(1)
        assert stage.replay.applied_offset == 2


async def test_a_fetched_snapshot_takes_the_place_of_the_image() -> None:
    async with replaying() as stage:
        await stage.commit([topic("a")])
        same = stage.replay.image
        image = image_of(topic("x"), topic("y"))
        await stage.replay.start_over(SnapshotId(9, 4), image)
        await stage.replay.until(9)
        # Those who hold the image see the new one.
        assert stage.replay.image is same
        assert stage.names == ["x", "y"]
        assert (stage.replay.applied_offset, stage.replay.applied_epoch) == (9, 4)
        assert stage.told == [[topic("a")], None]


async def test_what_was_read_before_a_snapshot_came_is_not_applied_after_it() -> None:
    class SlowLog(MetadataLog):
        async def batches(self, offset: int, up_to: int) -> list[Committed]:
            found = await super().batches(offset, up_to)
            await asyncio.sleep(0.01)
            return found

    opened = await MetadataLog.open(MemoryDisk(), Clock(), 1 << 20)
    log = SlowLog(opened.log, opened.snapshots, Clock())
    replay = Replay(log, image_of(), lambda _: None, snapshot_after_bytes=NEVER)
    await log.append([topic("a")], 1)
    await replay.committed(1)
    task = asyncio.ensure_future(replay.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await replay.start_over(SnapshotId(9, 4), image_of(topic("a"), topic("x")))
    await asyncio.sleep(0.03)
    assert not task.done()
    assert (sorted(replay.image.topics), replay.applied_offset) == (["a", "x"], 9)
    task.cancel()


async def test_what_a_snapshot_has_swept_away_is_not_missed() -> None:
    """The log has followed the snapshot already, and the image not yet."""
    async with replaying() as stage:
        await stage.log.append([topic("a")], 1)
        await stage.log.snapshots.write(image_of(topic("x")), SnapshotId(9, 4), 5)
        await stage.log.start_over_at_snapshot()
        await stage.replay.committed(1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await stage.replay.start_over(SnapshotId(9, 4), image_of(topic("x")))
        await stage.commit([topic("y")], epoch=5)
        assert stage.names == ["x", "y"]


async def test_after_a_snapshot_the_log_goes_on_where_it_ends() -> None:
    async with replaying() as stage:
        await stage.commit([topic("a")])
        await stage.log.snapshots.write(image_of(topic("x")), SnapshotId(9, 4), 5)
        await stage.log.start_over_at_snapshot()
        await stage.replay.start_over(SnapshotId(9, 4), image_of(topic("x")))
        await stage.commit([topic("y")], epoch=5)
        assert stage.names == ["x", "y"]
        assert stage.replay.applied_offset == 10


async def test_a_snapshot_is_made_when_enough_was_written_and_a_start_begins_there() -> None:
    disk = MemoryDisk()
    async with replaying(disk, snapshot_after_bytes=2000) as stage:
        for number in range(40):
            await stage.commit([topic(f"t{number:02}")])
        before = content_of(stage.replay.image)
        assert stage.log.snapshot_id is not None
        assert stage.log.start_offset == stage.log.snapshot_id.end_offset > 20
    async with replaying(disk) as stage:
        assert stage.replay.applied_offset == stage.log.start_offset
        assert 20 < len(stage.names) < 40
        await stage.replay.committed(stage.log.end_offset)
        await stage.replay.until(stage.log.end_offset)
        assert content_of(stage.replay.image) == before


async def test_a_snapshot_that_finds_no_room_is_made_later() -> None:
    disk = MemoryDisk()
    full = disk.fail("*", "*.checkpoint*", error=errno.ENOSPC)
    async with replaying(disk, snapshot_after_bytes=1) as stage:
        await stage.commit([topic("a")])
        await asyncio.sleep(0.01)
        assert stage.log.snapshot_id is None
        full.times = 0
        await stage.commit([topic("b")])
        async with asyncio.timeout(5):
            while stage.log.snapshot_id is None:  # noqa: ASYNC110 - it knows no event
                await asyncio.sleep(0.001)
        assert stage.names == ["a", "b"]


async def test_what_cannot_be_applied_stops_it() -> None:
    log = await MetadataLog.open(MemoryDisk(), Clock(), 1 << 20)
    replay = Replay(log, image_of(topic("a")), lambda _: None, snapshot_after_bytes=NEVER)
    await log.append([topic("a")], 1)
    await replay.committed(1)
    with pytest.raises(ConflictError):
        await replay.run()
    assert replay.applied_offset == 0


@in_virtual_time
async def test_a_log_whose_truncation_finds_no_room_is_read_when_it_is_back() -> None:
    disk = MemoryDisk()
    async with replaying(disk) as stage:
        await stage.log.append([topic("a")], 1)
        await stage.log.append([topic("b")], 2)
        await stage.log.flush()
        full = disk.fail("replace", error=errno.ENOSPC)
        with pytest.raises(KafkaError):
            await stage.log.truncate_to(1)
        assert stage.log.log.failure is not None
        await stage.replay.committed(1)
        await asyncio.sleep(2.5)
        assert stage.names == []
        full.times = 0
        await stage.log.truncate_to(1)
        await stage.replay.until(1)
        assert stage.names == ["a"]
