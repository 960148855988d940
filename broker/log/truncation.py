"""Cutting a log off: a follower drops what its leader never had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.disk.interface import ColdReadError
from broker.log import syncing
from broker.log.batch_walk import walk_batches
from broker.log.breather import Breather
from broker.log.producer_history import (
    delete_snapshot,
    rebuild_producers,
    recall_undecided,
    snapshot_offsets,
)
from broker.log.producer_table import ProducerTable
from broker.log.segment import Segment, sync

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
    await sync(last.file)
    await _find_largest_timestamp(last, breather)
    log.end_offset = last.end_offset
    # A batch that reached over the cut went with it, so the end may lie before the cut.
    await _lower_recovery_point(log, log.end_offset)
    log.epochs.truncate_from_end(log.end_offset)
    await syncing.write_epochs(log)
    await rebuild_producers(log, breather)
    log.high_watermark = max(min(log.high_watermark, log.end_offset), log.start_offset)
    await recall_undecided(log, log.high_watermark, breather)
    log.update_first_unstable()


async def _lower_recovery_point(log: Log, offset: int) -> None:
    """On disk first: a crash must not find new bytes below a point that calls them checked."""
    if offset < log.recovery_point:
        log.recovery_point = offset
        await syncing.save_offsets(log)


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
