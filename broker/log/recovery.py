"""From files to a log: what a start finds on disk, made consistent again.

A rolled segment gets its index files after it was synced, and the segment that is written to has
none. So the files themselves say which segments may be torn, whatever the checkpoint says. A crash
tears only what was not synced: that is cut off. Damage to what was synced is left as it is, told,
and readers hear of it when they get there. Nothing is thrown away without a line in the log.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log import file_names, producer_snapshot, segment_check
from broker.log.batch_walk import FoundBatch, read, walk_batches
from broker.log.breather import Breather
from broker.log.checkpoints import CorruptCheckpointError
from broker.log.compaction_swap import finish_swaps
from broker.log.epochs import LeaderEpochs
from broker.log.offset_index import CorruptIndexError
from broker.log.origin import Origin
from broker.log.producer_table import ProducerTable
from broker.log.room import is_lack_of_room
from broker.log.segment import Segment
from broker.log.txn_index import AbortedTransaction
from broker.log.validation import marker_of
from broker.protocol.batch import HEADER_SIZE, BatchHeader, CorruptBatchError, read_header

LARGEST_RELATIVE_OFFSET = 2**31 - 1
BEYOND_ALL_OFFSETS = 2**63 - 1

_log = logging.getLogger(__name__)


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
    unwritten_snapshots: dict[int, bytes] = field(default_factory=dict)
    _is_full: bool = False
    _synced_to: int = 0
    _snapshots: list[int] = field(default_factory=list)
    _damaged: list[Segment] = field(default_factory=list)
    _holes: list[tuple[int, int]] = field(default_factory=list)

    async def load(self, *, was_clean: bool, recovery_point: int, start_offset: int) -> None:
        self._recovery_point = recovery_point
        self._synced_to = BEYOND_ALL_OFFSETS if was_clean else recovery_point
        await self._open_files()
        if not self.segments:
            if recovery_point > start_offset:
                _log.error(
                    "%s: no segment is left of the records up to offset %d; it begins empty",
                    self.directory,
                    recovery_point,
                )
            await self._begin_at(start_offset)
            return
        scan_from = await self._load_indexes()
        await self._load_epochs(self.segments[:scan_from])
        await self._scan(scan_from)
        self._tell_damage()
        end_offset = self.segments[-1].end_offset
        if start_offset > end_offset:
            if not was_clean and start_offset <= recovery_point:
                # A crash came while the log was emptied, to begin at another offset.
                _log.warning("%s: begins anew at offset %d", self.directory, start_offset)
                await self._delete_segments(self.segments)
                await self._begin_at(start_offset)
                return
            _log.error(
                "%s: a checkpoint lets it start at offset %d, but it ends at %d; all of it is kept",
                self.directory,
                start_offset,
                end_offset,
            )
            start_offset = 0
        self.start_offset = max(start_offset, self.segments[0].base_offset)
        self.epochs.truncate_from_end(end_offset)
        if self.epochs.changed:
            path = f"{self.directory}/{file_names.EPOCHS}"
            async with self._unless_full():
                await self.disk.replace(path, self.epochs.encode())
                self.epochs.changed = False
        # Written later: a log that comes back may know a start that no checkpoint knows yet.
        self.epochs.truncate_from_start(self.start_offset)

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
        except CorruptCheckpointError as problem:
            _log.warning("%s; it is rebuilt from the batches", problem)
            for segment in trusted:
                async for found in walk_batches(segment.file, 0, segment.size, self.breather):
                    self.epochs.assign(found.header.leader_epoch, found.header.base_offset)

    async def _load_indexes(self) -> int:
        """The number of the first segment that has to be scanned."""
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 : number + 2]
            end_offset = following[0].base_offset if following else BEYOND_ALL_OFFSETS
            try:
                await segment.load_indexes(self.disk)
            except CorruptIndexError as problem:
                if segment.sealed or end_offset <= self._synced_to:
                    _log.warning("%s: %s; indexes are rebuilt", segment.file.path, problem)
                segment.sealed = False
                return number
            if end_offset > self._synced_to:
                return number
            whole = await segment_check.find_end(segment, self.breather)
            if following:
                whole = whole or await segment_check.find_whole_part(segment, self.breather)
                self._join(segment, whole, end_offset)
            elif whole is None:
                return number
            else:
                segment.end_offset = whole.end_offset
            await self.breather.pause()
        return len(self.segments)

    def _join(self, segment: Segment, whole: segment_check.WholePart, following: int) -> None:
        """A segment that was synced ends where the next one begins, or its loss is noted."""
        segment.end_offset = following
        if whole.size < segment.file.size or whole.end_offset > following:
            segment.size = whole.size
            segment.offsets.truncate(whole.size)
            segment.damage = (
                f"{segment.file.path} is damaged at byte {whole.size}: "
                f"offsets {whole.end_offset} to {following - 1} cannot be read"
            )
            self._damaged.append(segment)
        elif whole.end_offset < following and not self.config.cleanup_compact:
            self._holes.append((whole.end_offset, following - 1))

    def _tell_damage(self) -> None:
        """One line for each kind: a log may have thousands of segments."""
        if self._damaged:
            _log.error(
                "%s; damaged segments in this log: %d; restore them from a copy, or let consumers "
                "seek beyond the damage",
                self._damaged[0].damage,
                len(self._damaged),
            )
        if self._holes:
            _log.error(
                "%s: offsets %d to %d are missing, holes in all: %d; segments were deleted, or the "
                "log was compacted once; readers are sent over the holes",
                self.directory,
                *self._holes[0],
                len(self._holes),
            )

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
            unsynced = await self._scan_segment(segment)
            if not was_sealed:
                # A sync may have failed: then the cache shows bytes that the device does not have,
                # and calls them clean. Without being written again they would never get there.
                await segment.file.write_again(unsynced, segment.size - unsynced)
            following = self.segments[number + 1 :]
            next_offset = following[0].base_offset if following else segment.end_offset
            # Segments are synced in their order: a sealed one vouches for those before it.
            was_synced = bool(following) and (
                was_sealed
                or next_offset <= self._synced_to
                or any(each.sealed for each in following)
            )
            is_torn = segment.size < segment.file.size or segment.end_offset != next_offset
            if is_torn and not was_synced:
                # What follows was written after bytes that are lost; a log has no holes.
                await self._tell_cut(segment, following)
                await self._cut(number, segment.size)
            elif following:
                whole = segment_check.WholePart(segment.end_offset, segment.size)
                self._join(segment, whole, next_offset)
                async with self._unless_full():
                    await segment.seal(self.disk)
                await self._write_snapshot(next_offset)
            number += 1

    async def _tell_cut(self, segment: Segment, following: list[Segment]) -> None:
        size = segment.file.size - segment.size
        if size:
            reason = await segment_check.reason(segment.file, segment.size)
        else:
            reason = f"the next segment begins at {following[0].base_offset}"
        _log.log(
            # Bytes that nobody promised to keep, or records that were safe.
            logging.ERROR if segment.end_offset < self._synced_to else logging.WARNING,
            "%s: cut off at offset %d, byte %d of %s: %s; bytes deleted: %d, segments behind: %d",
            self.directory,
            segment.end_offset,
            segment.size,
            segment.file.path,
            reason,
            size + sum(each.file.size for each in following),
            len(following),
        )

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
        content = producer_snapshot.encode(self.producers.producers.values())
        path = file_names.segment_path(self.directory, offset, file_names.SNAPSHOT)
        self.unwritten_snapshots[offset] = content
        async with self._unless_full():
            await self.disk.replace(path, content)
            del self.unwritten_snapshots[offset]
            self._snapshots.append(offset)

    @asynccontextmanager
    async def _unless_full(self) -> AsyncIterator[None]:
        """What can be made from the batches is written by the next flush that finds room."""
        try:
            yield
        except OSError as problem:
            if not is_lack_of_room(problem):
                raise
            if not self._is_full:
                _log.warning("%s: going on with a full disk: %s", self.directory, problem)
            self._is_full = True

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
        except (producer_snapshot.CorruptSnapshotError, FileNotFoundError) as problem:
            _log.warning("%s: %s; producers are rebuilt from the batches", path, problem)
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
