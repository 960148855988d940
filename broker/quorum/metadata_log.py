"""The metadata log on disk: Kafka's `__cluster_metadata-0`, in the form of every other log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker.config.topic import LogConfig
from broker.disk.interface import ColdReadError, Disk, FileSlice
from broker.log.breather import Breather
from broker.log.log import Log, Origin
from broker.log.room import is_lack_of_room
from broker.metadata.changes import Change
from broker.metadata.image import Image
from broker.protocol.batch import iterate_headers
from broker.quorum.records import change_batch, changes_of, leader_change_batch, voters_of
from broker.quorum.snapshots import Snapshots
from broker.raft.events import SnapshotId
from broker.world import WallClock

TOPIC = "__cluster_metadata"
DIRECTORY = f"{TOPIC}-0"

_READ_BYTES = 1 << 20


class Committed(NamedTuple):
    """One batch: all of its changes come into effect together."""

    end_offset: int
    epoch: int
    size: int
    changes: Sequence[Change]
    voters: Sequence[int] | None = None
    """Of the leader whose epoch begins with it."""


class MetadataLog:
    """Made by `open`. Also the view that the quorum's rules have of the log."""

    def __init__(self, log: Log, snapshots: Snapshots, clock: WallClock) -> None:
        self.log = log
        self._clock = clock
        self.snapshots = snapshots
        self.flushed_offset = log.end_offset
        self._cuts = 0

    @classmethod
    async def open(cls, disk: Disk, clock: WallClock, segment_bytes: int) -> MetadataLog:
        await disk.make_directory(DIRECTORY)
        snapshots = await Snapshots.find(disk, DIRECTORY)
        config = LogConfig(
            segment_bytes=segment_bytes,
            retention_ms=-1,
            retention_bytes=-1,
        )
        start = 0 if snapshots.latest is None else snapshots.latest.end_offset
        log = await Log.open(
            disk,
            DIRECTORY,
            config,
            clock=clock,
            was_clean=False,
            start_offset=start,
            breather=Breather(),
        )
        opened = cls(log, snapshots, clock)
        if log.end_offset < start:
            # The snapshot came from the leader, and a crash before the log could follow it.
            await opened.start_over_at_snapshot()
        return opened

    # What the rules look at

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def last_epoch(self) -> int:
        if self.log.epochs.latest >= 0:
            return self.log.epochs.latest
        return 0 if self.snapshot_id is None else self.snapshot_id.epoch

    @property
    def snapshot_id(self) -> SnapshotId | None:
        return self.snapshots.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch here that is not above the asked one, and where it ends."""
        snapshot = self.snapshot_id
        entries = self.log.epochs.entries
        if snapshot is not None and (not entries or epoch < entries[0].epoch):
            return min(epoch, snapshot.epoch), self.log.start_offset
        if entries and epoch < entries[0].epoch:
            return epoch, entries[0].start_offset
        if epoch > self.log.epochs.latest:
            return self.last_epoch, self.log.end_offset
        return self.log.end_offset_for_epoch(epoch)

    # Writing

    async def append(self, changes: Sequence[Change], epoch: int) -> int:
        """The offset behind the changes. Raises KafkaError when the disk refuses."""
        return await self._append(change_batch(changes, self._clock.now_ms()), epoch)

    async def append_leader_change(self, leader_id: int, voters: Sequence[int], epoch: int) -> int:
        return await self._append(
            leader_change_batch(leader_id, voters, self._clock.now_ms()), epoch
        )

    async def _append(self, batch: bytearray, epoch: int) -> int:
        records = memoryview(batch)
        while not self.log.can_append(len(records)):
            await self.log.roll()
        self.log.append(records, leader_epoch=epoch, origin=Origin.COORDINATOR)
        return self.log.end_offset

    async def append_fetched(self, records: memoryview) -> None:
        while not self.log.can_append_replicated(records):
            await self.log.roll()
        self.log.append_replicated(records)

    async def flush(self) -> int:
        """What was appended before is durable after it, and counts; the offset behind it."""
        end, cuts = self.log.end_offset, self._cuts
        await self.log.flush()
        if cuts == self._cuts:
            self.flushed_offset = max(end, self.flushed_offset)
        return self.flushed_offset

    async def truncate_to(self, offset: int) -> None:
        await self._back_online()
        # A flush that is under way says nothing of what is appended here afterwards.
        self._cuts += 1
        # Lowered first: the log ends earlier long before its truncation is over.
        self.flushed_offset = min(self.flushed_offset, offset)
        await self.log.truncate_to(offset)
        # A batch that reaches over the cut goes as a whole. A leader whose log begins with a
        # snapshot asks for such cuts: it no longer knows where older epochs ended.
        self.flushed_offset = min(self.flushed_offset, self.log.end_offset)

    def advance_high_watermark(self, offset: int) -> None:
        self.log.advance_high_watermark(offset)

    # Reading

    def read(self, offset: int, max_bytes: int) -> FileSlice | None:
        """For a replica: up to the end. ColdReadError as of every log."""
        return self.log.read(offset, max_bytes, up_to=self.log.end_offset, at_least_one=True)

    async def batches(self, offset: int, up_to: int) -> list[Committed]:
        """Some of the batches from `offset` on; none when `up_to` is reached."""
        while True:
            try:
                piece = self.log.read(offset, _READ_BYTES, up_to=up_to, at_least_one=True)
                return [] if piece is None else list(_decode(piece.read(), offset))
            except ColdReadError as cold:
                await cold.warm()

    # Snapshots

    async def write_snapshot(self, image: Image, snapshot_id: SnapshotId) -> None:
        """Afterwards the log holds only what follows it."""
        await self.snapshots.write(image, snapshot_id, self._clock.now_ms())
        await self.log.delete_records(snapshot_id.end_offset)

    async def start_over_at_snapshot(self) -> None:
        """The snapshot of another node is here, and everything in the log is older."""
        assert self.snapshot_id is not None
        await self._back_online()
        self._cuts += 1
        await self.log.truncate_fully_and_start_at(self.snapshot_id.end_offset)
        self.log.advance_high_watermark(self.snapshot_id.end_offset)
        self.flushed_offset = self.log.end_offset

    async def _back_online(self) -> None:
        """A disk that was full has ended a cut half-way, and it is tried again now.

        Whatever else took the log offline, only a start finds out what is on the disk.
        """
        failure = self.log.failure
        if failure is not None and is_lack_of_room(failure):
            await self.log.reopen(Breather())

    async def close(self) -> None:
        await self.log.close()


def _decode(content: bytes, offset: int) -> Iterator[Committed]:
    records = memoryview(content)
    for position, header in iterate_headers(records):
        if header.last_offset < offset:
            continue
        batch = records[position : position + header.size]
        yield Committed(
            header.last_offset + 1,
            header.leader_epoch,
            header.size,
            changes_of(batch, header),
            voters_of(batch, header),
        )
