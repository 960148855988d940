"""What a log may forget: by time, by size, by start offset; never beyond the high watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.log import syncing
from broker.log.producer_history import delete_snapshot, ensure_snapshot, snapshot_offsets
from broker.log.room import is_lack_of_room
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.log.log import Log


async def delete_records(log: Log, before: int) -> int:
    async with log.changing, log.syncing:
        log.check_online()
        target = log.high_watermark if before == -1 else before
        if not 0 <= target <= log.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"cannot delete before offset {target}: the high watermark is {log.high_watermark}",
            )
        try:
            if target > log.start_offset:
                is_saved = await _advance_start(log, target)
                await _delete_first(log, _count_before_start(log))
                if not is_saved:
                    await _save_start(log)
            elif target > log.saved_start:
                # An earlier call moved the start, but was refused as the disk was full.
                await _save_start(log)
        except OSError as problem:
            raise log.refuse(problem) from problem
        return log.start_offset


async def apply_retention(log: Log) -> int:
    async with log.changing:
        log.check_online()
        count = _count_deletable(log)
        if count == len(log.segments) and log.active.size:
            # Kafka deletes the active segment, too, when all of it has expired.
            try:
                await log.roll_locked()
            except KafkaError:
                # Without room for a new segment the others can still go.
                if log.failure is not None:
                    raise
        count = min(count, len(log.segments) - 1)
        if not count:
            return 0
        async with log.syncing:
            log.check_online()
            try:
                return await _forget_first(log, count)
            except OSError as problem:
                raise log.refuse(problem) from problem


async def _forget_first(log: Log, count: int) -> int:
    try:
        await _advance_start(log, max(log.start_offset, log.segments[count].base_offset))
    except OSError as problem:
        # A full disk has no room for what a flush writes, but what is synced can go without it.
        synced = sum(segment.base_offset <= log.recovery_point for segment in log.segments[1:])
        if not is_lack_of_room(problem) or synced >= count:
            raise
        return await _forget_first(log, synced) if synced else 0
    return await _delete_first(log, count)


def _count_deletable(log: Log) -> int:
    """How many of the oldest segments nobody needs: the reasons add up."""
    count = _count_before_start(log)
    if not log.config.cleanup_delete:
        return count
    segments = log.segments
    now_ms = log.clock.now_ms()
    retention_ms, retention_bytes = log.config.retention_ms, log.config.retention_bytes
    kept_bytes = log.size_bytes - sum(segment.size for segment in segments[:count])
    while count < len(segments):
        segment = segments[count]
        if segment is log.active and not segment.size:
            break
        end_offset = log.end_offset if segment is log.active else segments[count + 1].base_offset
        if end_offset > log.high_watermark:
            break
        age_ms = now_ms - (
            segment.largest_timestamp if segment.largest_timestamp >= 0 else segment.first_append_ms
        )
        is_old = retention_ms >= 0 and age_ms > retention_ms
        is_too_much = retention_bytes >= 0 and kept_bytes - segment.size >= retention_bytes
        if not (is_old or is_too_much):
            break
        kept_bytes -= segment.size
        count += 1
    return count


def _count_before_start(log: Log) -> int:
    """Segments that end at or before the start offset; the active one always stays."""
    return sum(segment.base_offset <= log.start_offset for segment in log.segments[1:])


async def _advance_start(log: Log, offset: int) -> bool:
    """Whether the checkpoint knows. On a full disk it may not: then the deletion makes room."""
    if offset > log.recovery_point:
        # A start that a power loss may find behind the end could not be told from a damaged one.
        await syncing.flush_locked(log, offset)
    log.start_offset = offset
    log.high_watermark = max(log.high_watermark, offset)
    log.update_first_unstable()
    try:
        await _save_start(log)
    except OSError as problem:
        if not is_lack_of_room(problem):
            raise
        return False
    return True


async def _save_start(log: Log) -> None:
    await syncing.save_offsets(log)
    # Not before the start is on disk: a crash that brings the old one back needs its epochs.
    log.epochs.truncate_from_start(log.start_offset)
    log.saved_start = log.start_offset


async def _delete_first(log: Log, count: int) -> int:
    """The oldest first: a crash in between leaves a log without holes. Returns how many went."""
    while count and not await _has_snapshot(log, log.segments[count].base_offset):
        count -= 1
    if not count:
        return 0
    segments = list(log.segments)
    beginning = segments[count].base_offset
    for _ in range(count):
        segment = segments.pop(0)
        log.set_segments(segments)
        # Its file closes when the last reader lets go of it.
        await segment.unlink(log.disk)
    # The newest snapshot at or before the new beginning stays: its producers may be silent since,
    # and must be remembered all the same (KAFKA-7190).
    before = [offset for offset in await snapshot_offsets(log) if offset <= beginning]
    for offset in before[:-1]:
        await delete_snapshot(log, offset)
    return count


async def _has_snapshot(log: Log, beginning: int) -> bool:
    """False: the disk has no room for it, so the log cannot begin there yet."""
    try:
        await ensure_snapshot(log, beginning)
    except OSError as problem:
        if not is_lack_of_room(problem):
            raise
        return False
    return True
