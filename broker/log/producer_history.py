"""What the producers were at an offset: from a snapshot before it, and a replay of what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.log import file_names, producer_snapshot, syncing
from broker.log.batch_walk import walk_batches
from broker.log.breather import Breather
from broker.log.producer_table import ProducerTable
from broker.log.recovery import load_snapshot, replay_segments

if TYPE_CHECKING:
    from broker.log.log import Log


async def rebuild_producers(log: Log, breather: Breather) -> None:
    """At the new end of a log that was cut off."""
    for offset in [offset for offset in log.pending_snapshots if offset > log.end_offset]:
        del log.pending_snapshots[offset]
    kept: list[int] = []
    for offset in await snapshot_offsets(log):
        if offset > log.end_offset:
            await delete_snapshot(log, offset)
        else:
            kept.append(offset)
    log.producers = await _producers_at(log, kept, log.end_offset, breather)


async def recall_undecided(log: Log, mark: int, breather: Breather) -> None:
    """Which transactions ended at or beyond the high watermark: their markers may yet be cut off.

    A snapshot does not tell, it only knows which ones are open. So when there is such a marker,
    the log is replayed from a snapshot at or below the high watermark.
    """
    if not log.producers.producers or not await _has_marker_from(log, mark, breather):
        return
    below = [offset for offset in await snapshot_offsets(log) if offset <= mark]
    table = await _producers_at(log, below, log.active.end_offset, breather)
    log.producers.recall_undecided(table, mark)


async def _has_marker_from(log: Log, first: int, breather: Breather) -> bool:
    for segment in log.segments:
        if segment.end_offset <= first:
            continue
        start = segment.offsets.floor(max(first - segment.base_offset, 0))
        async for found in walk_batches(segment.file, start, segment.size, breather):
            header = found.header
            if header.is_control and header.producer_id >= 0 and header.last_offset >= first:
                return True
    return False


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


async def snapshot_offsets(log: Log) -> list[int]:
    parsed = map(file_names.parse, await log.disk.list(log.directory))
    return sorted(entry[0] for entry in parsed if entry and entry[1] == file_names.SNAPSHOT)


async def delete_snapshot(log: Log, offset: int) -> None:
    path = file_names.segment_path(log.directory, offset, file_names.SNAPSHOT)
    await log.disk.delete(path)
