"""Several segments of a log, read batch by batch, become one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from broker.disk.interface import Disk
from broker.log.batch_walk import read, walk_batches
from broker.log.breather import Breather
from broker.log.compaction_batch import CompactedBatch, compact_batch
from broker.log.compaction_rules import Rules
from broker.log.compaction_swap import CleanedSegment
from broker.log.record_check import decompression_bound
from broker.log.segment import Segment
from broker.protocol.batch import BatchHeader, CorruptBatchError
from broker.protocol.records import iterate_extents, record_data

BUFFER_SIZE = 256 * 1024
RECORDS_PER_PAUSE = 256


async def whole_batches(
    segment: Segment, breather: Breather
) -> AsyncIterator[tuple[BatchHeader, memoryview]]:
    """Every batch of a sealed segment. Damage raises: it must not be made to look healthy."""
    end = 0
    async for found in walk_batches(segment.file, 0, segment.size, breather, verify=True):
        batch = found.batch
        if batch is None:
            batch = memoryview(await read(segment.file, found.position, found.header.size))
        end = found.position + found.header.size
        yield found.header, batch
    if end != segment.size:
        raise CorruptBatchError(f"{segment.file.path} has no whole batch at byte {end}")


async def collect_keys(
    rules: Rules, segments: Sequence[Segment], first_dirty: int, breather: Breather
) -> None:
    """The dirty part, as far as the keys have room. At least one batch, or nothing would move."""
    for segment in segments:
        async for header, batch in whole_batches(segment, breather):
            is_aborted = not header.is_control and rules.transactions.see_data(header)
            if header.last_offset < first_dirty:
                continue
            if not header.is_control and not is_aborted:
                if len(rules.keys) and not rules.keys.has_room_for(header.record_count):
                    return
                await _put_keys(rules, header, batch, breather)
            rules.keys.latest = header.last_offset


async def _put_keys(
    rules: Rules, header: BatchHeader, batch: memoryview, breather: Breather
) -> None:
    data = record_data(batch, header, max_bytes=decompression_bound(header.size))
    for number, record in enumerate(iterate_extents(data, header.record_count)):
        if record.key is not None:
            rules.keys.put(record.key, header.base_offset + record.offset_delta)
        if number % RECORDS_PER_PAUSE == 0:
            await breather.pause()


async def rewrite(
    disk: Disk,
    sources: Sequence[Segment],
    rules: Rules,
    interval_bytes: int,
    breather: Breather,
    cleaned: CleanedSegment,
) -> None:
    """Durable when it returns, under the names of a cleaned segment."""
    waiting: list[memoryview] = []
    waiting_bytes = 0
    for source in sources:
        position = 0
        async for header, batch in whole_batches(source, breather):
            position += header.size
            ends_segment = source is sources[-1] and position == source.size
            kept = await compact_batch(batch, header, rules, breather, ends_segment=ends_segment)
            if kept is None:
                continue
            waiting.append(kept.data)
            waiting_bytes += len(kept.data)
            _note(cleaned, kept, interval_bytes)
            if waiting_bytes >= BUFFER_SIZE:
                cleaned.file.append(waiting)
                waiting, waiting_bytes = [], 0
    cleaned.file.append(waiting)
    await cleaned.seal(disk)


def _note(cleaned: CleanedSegment, kept: CompactedBatch, interval_bytes: int) -> None:
    cleaned.note(kept.header, kept.header.base_offset, interval_bytes)
    if kept.aborted is not None:
        cleaned.aborted.add(kept.aborted)
