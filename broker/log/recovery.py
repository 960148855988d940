"""From files to a log: what a start finds on disk, made consistent again.

A rolled segment gets its index files after it was synced, and the segment that is written to has
none. So the files themselves say which segments may be torn, whatever the checkpoint says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log import file_names, producer_snapshot
from broker.log.batch_walk import FoundBatch, read, walk_batches
from broker.log.breather import Breather
from broker.log.checkpoints import CorruptCheckpointError
from broker.log.compaction_swap import finish_swaps
from broker.log.epochs import LeaderEpochs
from broker.log.offset_index import CorruptIndexError
from broker.log.origin import Origin
from broker.log.producer_table import ProducerTable
from broker.log.segment import Segment
from broker.log.txn_index import AbortedTransaction
from broker.log.validation import marker_of
from broker.protocol.batch import HEADER_SIZE, BatchHeader, CorruptBatchError, read_header

LARGEST_RELATIVE_OFFSET = 2**31 - 1


@dataclass(slots=True, kw_only=True)
class Recovery:
    """One log being loaded; at the end `segments`, `producers` and `epochs` are the log."""

    disk: Disk
    directory: str
    config: LogConfig
    breather: Breather
    seen_ms: int
    segments: list[Segment] = field(default_factory=list)
    producers: ProducerTable = field(default_factory=ProducerTable)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    start_offset: int = 0
    _recovery_point: int = 0
    _snapshots: list[int] = field(default_factory=list)

    async def load(self, *, was_clean: bool, recovery_point: int, start_offset: int) -> None:
        await self._open_files()
        if not self.segments:
            await self._begin_at(start_offset)
            return
        self._recovery_point = recovery_point
        scan_from = await self._load_indexes(was_clean, recovery_point)
        await self._load_epochs(self.segments[:scan_from])
        await self._scan(scan_from)
        end_offset = self.segments[-1].end_offset
        if start_offset > end_offset:
            # The tail that was lost lay behind the start: those records were deleted already.
            await self._delete_segments(self.segments)
            await self._begin_at(start_offset)
            return
        self.start_offset = max(start_offset, self.segments[0].base_offset)
        self.epochs.truncate_from_end(end_offset)
        self.epochs.truncate_from_start(self.start_offset)
        if self.epochs.changed:
            await self.disk.replace(f"{self.directory}/{file_names.EPOCHS}", self.epochs.encode())
            self.epochs.changed = False

    async def _open_files(self) -> None:
        await self.disk.make_directory(self.directory)
        await finish_swaps(self.disk, self.directory)
        names = await self.disk.list(self.directory)
        parsed = [entry for entry in map(file_names.parse, names) if entry]
        logs = sorted(offset for offset, kind in parsed if kind == file_names.LOG)
        for name in names:
            if name.endswith(file_names.LEFTOVERS):
                await self.disk.delete(f"{self.directory}/{name}")
        for offset, kind in parsed:
            if kind in file_names.INDEXES and offset not in logs:
                await self.disk.delete(file_names.segment_path(self.directory, offset, kind))
        self._snapshots = sorted(offset for offset, kind in parsed if kind == file_names.SNAPSHOT)
        for base_offset in logs:
            segment = await Segment.open(self.disk, self.directory, base_offset)
            segment.sealed = (base_offset, file_names.OFFSET_INDEX) in parsed
            self.segments.append(segment)

    async def _begin_at(self, offset: int) -> None:
        for snapshot in list(self._snapshots):
            await self._delete_snapshot(snapshot)
        await self.disk.delete(f"{self.directory}/{file_names.EPOCHS}")
        self.segments = [await Segment.create(self.disk, self.directory, offset)]
        self.producers = ProducerTable(end_offset=offset)
        self.epochs = LeaderEpochs()
        self.start_offset = offset

    async def _load_epochs(self, trusted: list[Segment]) -> None:
        path = f"{self.directory}/{file_names.EPOCHS}"
        try:
            self.epochs = LeaderEpochs.decode(await self.disk.read(path), path)
        except FileNotFoundError:
            return
        except CorruptCheckpointError:
            for segment in trusted:
                async for found in walk_batches(segment.file, 0, segment.size, self.breather):
                    self.epochs.assign(found.header.leader_epoch, found.header.base_offset)

    async def _load_indexes(self, was_clean: bool, recovery_point: int) -> int:
        """The number of the first segment that has to be scanned."""
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 : number + 2]
            end_offset = following[0].base_offset if following else LARGEST_RELATIVE_OFFSET << 31
            try:
                await segment.load_indexes(self.disk)
            except CorruptIndexError:
                segment.sealed = False
                return number
            if not was_clean and end_offset > recovery_point:
                return number
            segment.end_offset = end_offset
            await self.breather.pause()
        await self._find_end(self.segments[-1])
        return len(self.segments)

    async def _find_end(self, active: Segment) -> None:
        """After a clean stop the indexes are whole: only what follows them is walked."""
        entries = active.offsets.entries()
        active.end_offset = active.base_offset
        position = entries[-1][1] if entries else 0
        end = position
        async for found in walk_batches(active.file, position, active.size, self.breather):
            active.end_offset = found.header.last_offset + 1
            end = found.position + found.header.size
        if end != active.size:
            await self._cut(len(self.segments) - 1, end)

    async def _scan(self, first: int) -> None:
        """Checks every batch of these segments and rebuilds what is derived from them."""
        scan_base = (
            self.segments[first].base_offset
            if first < len(self.segments)
            else self.segments[-1].end_offset
        )
        await self._load_producers(scan_base)
        number = first
        while number < len(self.segments):
            segment = self.segments[number]
            was_sealed, segment.sealed = segment.sealed, False
            file_size = segment.file.size
            unsynced = await self._scan_segment(segment)
            if not was_sealed:
                # A sync may have failed: then the cache shows bytes that the device does not have,
                # and calls them clean. Without being written again they would never get there.
                await segment.file.write_again(unsynced, segment.size - unsynced)
            following = self.segments[number + 1 :]
            hole = bool(following) and segment.end_offset != following[0].base_offset
            if segment.size < file_size or (hole and not was_sealed):
                # What follows was written after bytes that are lost; a log has no holes.
                await self._cut(number, segment.size)
            elif following:
                segment.end_offset = following[0].base_offset
                await segment.seal(self.disk)
                await self._write_snapshot(segment.end_offset)
            number += 1

    async def _scan_segment(self, segment: Segment) -> int:
        """Returns where the bytes begin that are not known to be synced."""
        end = segment.file.size
        segment.reset()
        unsynced = 0
        async for found in walk_batches(segment.file, 0, end, self.breather, verify=True):
            header = found.header
            relative = header.last_offset - segment.base_offset
            if header.base_offset < segment.end_offset or relative > LARGEST_RELATIVE_OFFSET:
                break
            try:
                self._replay(segment, found)
            except CorruptBatchError:
                break
            segment.note(header, header.base_offset, self.config.index_interval_bytes)
            if header.last_offset < self._recovery_point:
                unsynced = segment.size
        return unsynced

    def _replay(self, segment: Segment, found: FoundBatch) -> None:
        header = found.header
        self.epochs.assign(header.leader_epoch, header.base_offset)
        aborted = replay_producer(self.producers, header, found.batch, self.seen_ms)
        segment.aborted.entries += aborted
        self.producers.end_offset = header.last_offset + 1

    async def _cut(self, number: int, position: int) -> None:
        """The segment ends at `position`, and the log with it."""
        segment = self.segments[number]
        await self._delete_segments(self.segments[number + 1 :])
        del self.segments[number + 1 :]
        if position < segment.file.size:
            segment.file.truncate(position)
            await segment.file.fdatasync()
        segment.size = position
        for snapshot in list(self._snapshots):
            if snapshot > segment.end_offset:
                await self._delete_snapshot(snapshot)

    async def _delete_segments(self, segments: list[Segment]) -> None:
        for segment in reversed(segments):
            await segment.unlink(self.disk)
            segment.file.close()

    async def _delete_snapshot(self, offset: int) -> None:
        self._snapshots.remove(offset)
        path = file_names.segment_path(self.directory, offset, file_names.SNAPSHOT)
        await self.disk.delete(path)

    async def _write_snapshot(self, offset: int) -> None:
        """Each segment begins with one: its predecessors may be deleted."""
        self._snapshots.append(offset)
        await self.disk.replace(
            file_names.segment_path(self.directory, offset, file_names.SNAPSHOT),
            producer_snapshot.encode(self.producers.producers.values()),
        )

    async def _load_producers(self, up_to: int) -> None:
        """The newest good snapshot at or before `up_to`, and a replay of what follows it."""
        for snapshot in list(self._snapshots):
            if snapshot > up_to:
                await self._delete_snapshot(snapshot)
        self.producers = await load_snapshot(
            self.disk, self.directory, self._snapshots, self.segments[0].base_offset, self.seen_ms
        )
        below = [segment for segment in self.segments if segment.base_offset < up_to]
        await replay_segments(self.producers, below, up_to, self.seen_ms, self.breather)


async def first_time_ms(segment: Segment, now_ms: int) -> int:
    """When the segment was begun, as far as its first batch tells."""
    if not segment.size:
        return now_ms
    header = read_header(await read(segment.file, 0, HEADER_SIZE))
    return header.max_timestamp if 0 <= header.max_timestamp < now_ms else now_ms


async def load_snapshot(
    disk: Disk, directory: str, offsets: list[int], log_start: int, seen_ms: int
) -> ProducerTable:
    """From the newest of these snapshots; a damaged one is deleted and the one before it tried."""
    while offsets:
        path = file_names.segment_path(directory, offsets[-1], file_names.SNAPSHOT)
        try:
            producers = producer_snapshot.decode(await disk.read(path), seen_ms)
        except (producer_snapshot.CorruptSnapshotError, FileNotFoundError):
            await disk.delete(path)
            offsets.pop()
            continue
        return ProducerTable(producers, offsets[-1])
    return ProducerTable(end_offset=log_start)


async def replay_segments(
    table: ProducerTable, segments: list[Segment], up_to: int, seen_ms: int, breather: Breather
) -> None:
    """Brings the table from its end offset to `up_to`; these batches were checked before."""
    for number, segment in enumerate(segments):
        following = segments[number + 1 : number + 2]
        if following and following[0].base_offset <= table.end_offset:
            continue
        start = segment.offsets.floor(max(table.end_offset - segment.base_offset, 0))
        async for found in walk_batches(segment.file, start, segment.size, breather):
            header = found.header
            if header.base_offset >= up_to:
                break
            if header.base_offset >= table.end_offset:
                replay_producer(table, header, found.batch, seen_ms)
                table.end_offset = header.last_offset + 1
    table.end_offset = up_to


def replay_producer(
    table: ProducerTable, header: BatchHeader, batch: memoryview | None, seen_ms: int
) -> list[AbortedTransaction]:
    """What one batch of the log did to its producer; returns the transaction that it aborted."""
    if header.producer_id < 0:
        return []
    marker = marker_of(batch, header) if header.is_control and batch is not None else None
    steps = table.plan([(header, header.base_offset, marker)], seen_ms, Origin.REPLICA)
    return table.apply(steps)
