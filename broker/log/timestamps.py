"""Offsets by time: the first record that is not older, and the latest record."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from broker.log.batch_walk import FoundBatch, read, walk_batches
from broker.log.breather import Breather
from broker.log.record_check import decompression_bound
from broker.log.segment import Segment, failed_read
from broker.protocol.batch import CorruptBatchError
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.records import Record, iterate_records

if TYPE_CHECKING:
    from broker.log.log import Log


RECORDS_PER_PAUSE = 256


class TimestampOffset(NamedTuple):
    timestamp_ms: int
    offset: int
    leader_epoch: int


class _SegmentGoneError(Exception):
    """Retention, compaction or a comeback replaced the segment while it was read."""


async def find_by_timestamp(log: Log, timestamp_ms: int, up_to: int) -> TimestampOffset | None:
    while True:
        with suppress(_SegmentGoneError):
            return await _find_by_timestamp(log, timestamp_ms, up_to)


async def find_max_timestamp(log: Log) -> TimestampOffset | None:
    while True:
        with suppress(_SegmentGoneError):
            return await _find_max_timestamp(log)


async def _find_by_timestamp(log: Log, timestamp_ms: int, up_to: int) -> TimestampOffset | None:
    log.check_online()
    for segment in log.segments:
        if segment.base_offset >= up_to:
            break
        if segment.largest_timestamp < timestamp_ms:
            continue
        start = segment.offsets.floor(segment.times.floor(timestamp_ms))
        found = await _first_reaching(log, segment, start, timestamp_ms, up_to)
        if found is not None:
            return found
    return None


async def _find_max_timestamp(log: Log) -> TimestampOffset | None:
    log.check_online()
    latest: Segment | None = None
    for segment in log.segments:
        if segment.size and (
            latest is None or segment.largest_timestamp > latest.largest_timestamp
        ):
            latest = segment
    if latest is None or latest.largest_timestamp < 0:
        return None
    relative = latest.offset_of_largest_timestamp - latest.base_offset
    start = latest.offsets.floor(relative)
    return await _first_reaching(log, latest, start, latest.largest_timestamp, log.end_offset)


async def _first_reaching(
    log: Log, segment: Segment, start: int, timestamp_ms: int, up_to: int
) -> TimestampOffset | None:
    breather = Breather()
    try:
        async for found in walk_batches(segment.file, start, segment.size, breather):
            if found.header.base_offset >= up_to:
                return None
            if found.header.max_timestamp < timestamp_ms or found.header.is_control:
                continue
            first = max(log.start_offset, found.header.base_offset)
            record = await _first_record(segment, found, timestamp_ms, first, breather)
            if record is not None:
                if record.offset >= up_to:
                    return None
                return TimestampOffset(record.timestamp, record.offset, found.header.leader_epoch)
    except OSError as problem:
        if segment not in log.segments:
            raise _SegmentGoneError from problem
        failure = failed_read(problem)
        raise log.fail(failure) from failure
    if segment not in log.segments:
        raise _SegmentGoneError
    return None


async def _first_record(
    segment: Segment, found: FoundBatch, timestamp_ms: int, offset: int, breather: Breather
) -> Record | None:
    """Of this batch, from `offset` on. A client decides how many records a batch has."""
    header = found.header
    batch = found.batch
    if batch is None:
        batch = memoryview(await read(segment.file, found.position, header.size))
    try:
        records = iterate_records(batch, header, max_bytes=decompression_bound(header.size))
        for number, record in enumerate(records):
            if record.timestamp >= timestamp_ms and record.offset >= offset:
                return record
            if number % RECORDS_PER_PAUSE == 0:
                await breather.pause()
        return None
    except CorruptBatchError as problem:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"{segment.file.path} holds a corrupt batch at byte {found.position}: {problem}",
        ) from None
