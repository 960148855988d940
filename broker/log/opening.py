"""From files to a log that can be used: at a start, and when it comes back from a failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from broker.log import syncing
from broker.log.breather import Breather
from broker.log.producer_history import recall_undecided
from broker.log.recovery import Recovery, first_time_ms

if TYPE_CHECKING:
    from broker.log.log import Log

OnLoss = Callable[[], Awaitable[None]]


async def load(
    log: Log,
    *,
    was_clean: bool,
    recovery_point: int,
    start_offset: int,
    breather: Breather,
    on_loss: OnLoss | None = None,
) -> None:
    """Raises OSError, and then the log still knows where it ended.

    `on_loss` is awaited when it ends earlier now, before anything can be written down from which
    that could not be seen any more.
    """
    found = Recovery(
        disk=log.disk,
        directory=log.directory,
        config=log.config,
        breather=breather,
        seen_ms=log.uptime_ms(),
    )
    try:
        await found.load(
            was_clean=was_clean, recovery_point=recovery_point, start_offset=start_offset
        )
        log.set_segments(found.segments)
        await log.active.unseal(log.disk)
        for segment in found.segments:
            segment.first_append_ms = await first_time_ms(segment, log.clock.now_ms())
        log.producers = found.producers
        log.epochs = found.epochs
        log.pending_snapshots = found.unwritten_snapshots
        if not was_clean:
            # What a scan found in the cache may not be on the device, nor what it cut off.
            await log.active.file.fdatasync()
        end_offset = log.active.end_offset
        mark = min(max(log.high_watermark, found.start_offset), end_offset)
        await recall_undecided(log, mark, breather)
        if end_offset < log.end_offset and on_loss is not None:
            await on_loss()
    except BaseException:
        for segment in found.segments:
            segment.file.close()
        raise
    # All at once: a checkpoint may be written in every moment, and a second try may be needed.
    log.start_offset = log.saved_start = found.start_offset
    log.end_offset = log.recovery_point = end_offset
    log.high_watermark = mark
    log.update_first_unstable()


async def reopen(log: Log, breather: Breather, on_loss: OnLoss | None) -> None:
    async with log.changing, log.syncing:
        if log.failure is None:
            return
        if log.is_deleted:
            log.check_online()
        log.abandon()
        await load(
            log,
            was_clean=False,
            recovery_point=log.recovery_point,
            start_offset=log.start_offset,
            breather=breather,
            on_loss=on_loss,
        )
        await syncing.save_offsets(log)
        log.failure = log.no_room = None
    if log.on_comeback is not None:
        log.on_comeback()
