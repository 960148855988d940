"""Logs to be compacted, and what a reader makes of them."""

from __future__ import annotations

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log.compaction import Compacted, compact
from broker.log.compaction_choice import find_dirt
from broker.log.log import Log, Origin
from broker.protocol.batch import TRANSACTIONAL, BatchHeader
from broker.protocol.compression import Codec
from broker.protocol.records import Record, build_batch
from tests.unit.broker.log.builders import (
    NOW_MS,
    Clock,
    marker,
    open_log,
    read_all,
    records_of,
)

DAY_MS = 86_400_000
COMPACT = LogConfig(cleanup_compact=True, cleanup_delete=False, delete_retention_ms=DAY_MS)

Pairs = list[tuple[bytes, bytes | None]]


async def open_compacted(
    disk: Disk, clock: Clock | None = None, *, was_clean: bool = False, config: LogConfig = COMPACT
) -> Log:
    return await open_log(disk, clock=clock, was_clean=was_clean, config=config)


def write(
    log: Log,
    *pairs: tuple[bytes, bytes | None],
    codec: int = Codec.NONE,
    producer_id: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    time_ms: int = NOW_MS,
) -> int:
    """The offset of the first record."""
    batch = build_batch(
        [Record(n, time_ms + n, key, value) for n, (key, value) in enumerate(pairs)],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
        attributes=TRANSACTIONAL if transactional else 0,
    )
    return log.append(memoryview(batch), leader_epoch=0, origin=Origin.CLIENT).base_offset


def end(log: Log, producer_id: int, *, committed: bool) -> int:
    records = marker(producer_id, committed=committed)
    return log.append(records, leader_epoch=0, origin=Origin.COORDINATOR).base_offset


async def settle(log: Log) -> None:
    """Everything so far is replicated, synced, and in segments that may be compacted."""
    log.advance_high_watermark(log.end_offset)
    await log.roll()
    await log.flush()


async def compacted(log: Log, *, cleaned_to: int = 0, max_keys: int = 1000) -> Compacted:
    await settle(log)
    return await compact_now(log, cleaned_to=cleaned_to, max_keys=max_keys)


async def compact_now(log: Log, *, cleaned_to: int = 0, max_keys: int = 1000) -> Compacted:
    dirt = find_dirt(log, cleaned_to, log.clock.now_ms())
    return await compact(log, dirt, max_keys=max_keys)


async def after_crash(log: Log) -> Log:
    log.abandon()
    reopened = await open_log(
        log.disk, was_clean=False, config=log.config, recovery_point=log.recovery_point
    )
    reopened.clock = log.clock
    reopened.advance_high_watermark(reopened.end_offset)
    return reopened


async def without_snapshots(log: Log) -> None:
    """What is known about producers must then come from the batches alone."""
    for name in await log.disk.list(log.directory):
        if name.endswith(".snapshot"):
            await log.disk.delete(f"{log.directory}/{name}")


async def headers(log: Log) -> list[BatchHeader]:
    return [header for header, _ in await read_all(log)]


async def pairs(log: Log) -> Pairs:
    """Data records that are there, aborted ones included."""
    data = [entry for entry in await read_all(log) if not entry[0].is_control]
    return [(record.key or b"", record.value) for record in records_of(data)]


async def committed(log: Log) -> list[tuple[int, bytes, bytes | None]]:
    """Offset, key and value of what a read_committed consumer gets."""
    up_to = log.last_stable_offset
    aborted = log.aborted_transactions(log.start_offset, up_to)
    found = []
    for header, data in await read_all(log):
        is_aborted = header.is_transactional and any(
            entry.producer_id == header.producer_id
            and entry.first_offset <= header.base_offset <= entry.last_offset
            for entry in aborted
        )
        if header.is_control or is_aborted or header.base_offset >= up_to:
            continue
        for record in records_of([(header, data)]):
            found.append((record.offset, record.key or b"", record.value))
    return found


async def state(log: Log) -> dict[bytes, bytes]:
    """The table that the log stands for."""
    table: dict[bytes, bytes] = {}
    for _, key, value in await committed(log):
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return table
