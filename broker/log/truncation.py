"""Cutting a log off: a follower drops what its leader never had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.disk.interface import ColdReadError
from broker.log import file_names, producer_snapshot, syncing
from broker.log.batch_walk import walk_batches
from broker.log.breather import Breather
from broker.log.producer_table import ProducerTable
from broker.log.recovery import load_snapshot, replay_segments
from broker.log.segment import Segment

if TYPE_CHECKING:
    from broker.log.log import Log


async def truncate_to(log: Log, offset: int) -> None:
    """Whole batches only: one that reaches beyond `offset` goes with all that follows it."""
    async with log.changing, log.syncing:
        log.check_online()
        try:
            with log.no_appends():
                if offset >= log.end_offset:
                    # A leadership that wrote nothing has left its epoch behind.
                    log.epochs.truncate_from_end(log.end_offset)
                    await syncing.write_epochs(log)
                elif offset < log.segments[0].base_offset:
                    await _start_anew(log, offset)
                else:
                    await _truncate(log, offset)
        except OSError as problem:
            raise log.fail(problem) from problem


async def truncate_fully_and_start_at(log: Log, offset: int) -> None:
    """The high watermark goes along, or it would lie outside of the log (KAFKA-9491)."""
    async with log.changing, log.syncing:
        log.check_online()
        try:
            with log.no_appends():
                await _start_anew(log, offset)
        except OSError as problem:
            raise log.fail(problem) from problem


async def _truncate(log: Log, offset: int) -> None:
    await _lower_recovery_point(log, offset)
    breather = Breather()
    segments = list(log.segments)
    while len(segments) > 1 and segments[-1].base_offset >= offset:
        # The newest first: a crash in between leaves a log without holes.
        dropped = segments.pop()
        log.set_segments(segments)
        # Its file closes when the last reader lets go of it.
        await dropped.unlink(log.disk)
    last = segments[-1]
    await last.unseal(log.disk)
    position = await _locate(last, offset)
    if position < last.size:
        last.truncate(position, min(offset, await _base_offset(last, position, breather)))
    else:
        last.end_offset = offset
    await last.file.fdatasync()
    await _find_largest_timestamp(last, breather)
    log.end_offset = last.end_offset
    # A batch that reached over the cut went with it, so the end may lie before the cut.
    await _lower_recovery_point(log, log.end_offset)
    log.epochs.truncate_from_end(log.end_offset)
    await syncing.write_epochs(log)
    await rebuild_producers(log, breather)
    _lower_high_watermark(log)


async def _lower_recovery_point(log: Log, offset: int) -> None:
    """On disk first: a crash must not find new bytes below a point that calls them checked."""
    if offset < log.recovery_point:
        log.recovery_point = offset
        await syncing.save_offsets(log)


def _lower_high_watermark(log: Log) -> None:
    log.high_watermark = max(min(log.high_watermark, log.end_offset), log.start_offset)
    log.update_first_unstable()


async def _locate(segment: Segment, offset: int) -> int:
    while True:
        try:
            return segment.locate(offset)
        except ColdReadError as cold:
            await cold.warm()


async def _base_offset(segment: Segment, position: int, breather: Breather) -> int:
    async for found in walk_batches(segment.file, position, segment.size, breather):
        return found.header.base_offset
    return segment.end_offset


async def _find_largest_timestamp(segment: Segment, breather: Breather) -> None:
    """The index knows it up to its last entry; the batches behind that are looked at."""
    entries = segment.offsets.entries()
    start = entries[-1][1] if entries else 0
    async for found in walk_batches(segment.file, start, segment.size, breather):
        if found.header.max_timestamp > segment.largest_timestamp:
            segment.largest_timestamp = found.header.max_timestamp
            segment.offset_of_largest_timestamp = found.header.last_offset


async def rebuild_producers(log: Log, breather: Breather) -> None:
    """What the producers were at the new end: from a snapshot before it, and a replay."""
    for offset in [offset for offset in log.pending_snapshots if offset > log.end_offset]:
        del log.pending_snapshots[offset]
    kept: list[int] = []
    for offset in await snapshot_offsets(log):
        if offset > log.end_offset:
            await delete_snapshot(log, offset)
        else:
            kept.append(offset)
    log.producers = await _producers_at(log, kept, log.end_offset, breather)


async def ensure_snapshot(log: Log, offset: int) -> None:
    """Of the producers at this offset, where the log is about to begin."""
    content = log.pending_snapshots.get(offset)
    kept = [at for at in await snapshot_offsets(log) if at <= offset]
    if content is None and offset not in kept:
        # A crash came between the sync of a segment and the snapshot behind it.
        table = await _producers_at(log, kept, offset, Breather())
        content = producer_snapshot.encode(table.producers.values())
    if content is not None:
        await syncing.write_snapshot(log, offset, content)
        log.pending_snapshots.pop(offset, None)


async def _producers_at(
    log: Log, snapshots: list[int], offset: int, breather: Breather
) -> ProducerTable:
    seen_ms = log.uptime_ms()
    beginning = log.segments[0].base_offset
    table = await load_snapshot(log.disk, log.directory, snapshots, beginning, seen_ms)
    below = [segment for segment in log.segments if segment.base_offset < offset]
    await replay_segments(table, below, offset, seen_ms, breather)
    return table


async def _start_anew(log: Log, offset: int) -> None:
    """The new offset is on disk before the old segments go: an empty directory begins there."""
    log.start_offset = log.end_offset = log.high_watermark = log.recovery_point = offset
    log.producers = ProducerTable(end_offset=offset)
    log.update_first_unstable()
    await syncing.save_offsets(log)
    for segment in reversed(log.segments):
        await segment.unlink(log.disk)
    for snapshot in await snapshot_offsets(log):
        await delete_snapshot(log, snapshot)
    log.pending_snapshots.clear()
    log.epochs.clear()
    await syncing.write_epochs(log)
    log.set_segments([await Segment.create(log.disk, log.directory, offset)])


async def snapshot_offsets(log: Log) -> list[int]:
    parsed = map(file_names.parse, await log.disk.list(log.directory))
    return sorted(entry[0] for entry in parsed if entry and entry[1] == file_names.SNAPSHOT)


async def delete_snapshot(log: Log, offset: int) -> None:
    path = file_names.segment_path(log.directory, offset, file_names.SNAPSHOT)
    await log.disk.delete(path)
