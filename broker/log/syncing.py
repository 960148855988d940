"""How a log becomes durable: rolling, flushing and closing, and what each puts on disk."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from broker.log import file_names, producer_snapshot
from broker.log.segment import Segment, sync
from broker.protocol.errors import KafkaError

if TYPE_CHECKING:
    from broker.log.log import Log


async def roll(log: Log) -> None:
    """Nothing is appended meanwhile, so the end offset stays what it is."""
    base_offset = log.end_offset
    try:
        segment = await Segment.create(log.disk, log.directory, base_offset)
    except FileExistsError:
        # A roll that failed half-way may have left it; no batch of the log is in it.
        await log.disk.delete(file_names.segment_path(log.directory, base_offset, file_names.LOG))
        segment = await Segment.create(log.disk, log.directory, base_offset)
    log.pending_snapshots[base_offset] = producer_snapshot.encode(log.producers.producers.values())
    log.set_segments([*log.segments, segment])


async def seal_behind(log: Log) -> None:
    """The background of `roll`: everything before the active segment."""
    with suppress(KafkaError):
        while not all(segment.sealed for segment in log.segments[:-1]):
            await flush(log, log.active.base_offset)
        try:
            await save_offsets(log)
        except OSError as problem:
            raise log.refuse(problem) from problem


async def save_offsets(log: Log) -> None:
    """When it cannot wait for the next regular checkpoint."""
    if log.save_offsets is not None:
        await log.save_offsets()


async def flush(log: Log, up_to: int) -> None:
    async with log.syncing:
        log.check_online()
        try:
            await flush_locked(log, up_to)
        except OSError as problem:
            raise log.refuse(problem) from problem


async def flush_locked(log: Log, up_to: int) -> None:
    """Segments in order, so that a synced one never follows one that may be torn."""
    for segment in log.segments:
        if segment.base_offset >= up_to:
            break
        if segment is log.active:
            await sync(segment.file)
        elif not segment.sealed:
            await segment.seal(log.disk)
    await write_epochs(log)
    for offset in sorted(log.pending_snapshots):
        if offset <= up_to:
            await write_snapshot(log, offset, log.pending_snapshots[offset])
            log.pending_snapshots.pop(offset, None)
    log.recovery_point = max(log.recovery_point, min(up_to, log.end_offset))
    log.last_flush_ms = log.uptime_ms()


async def write_epochs(log: Log) -> None:
    if log.epochs.changed:
        content = log.epochs.encode()
        await log.disk.replace(f"{log.directory}/{file_names.EPOCHS}", content)
        # Only now, and not if another epoch began meanwhile: then the file is behind again.
        log.epochs.changed = log.epochs.encode() != content


async def write_snapshot(log: Log, offset: int, content: bytes) -> None:
    path = file_names.segment_path(log.directory, offset, file_names.SNAPSHOT)
    await log.disk.replace(path, content)


async def close(log: Log) -> None:
    async with log.syncing:
        try:
            await flush_locked(log, log.end_offset)
            await log.active.seal(log.disk)
            content = producer_snapshot.encode(log.producers.producers.values())
            await write_snapshot(log, log.end_offset, content)
        except OSError as problem:
            raise log.fail(problem) from problem
