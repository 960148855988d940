"""One batch on its way through a compaction: copied, thinned out, emptied or dropped."""

from __future__ import annotations

from typing import NamedTuple

from broker.log.breather import Breather
from broker.log.compaction_rules import IfEmpty, Rules
from broker.log.record_check import decompression_bound
from broker.log.txn_index import AbortedTransaction
from broker.log.validation import marker_of
from broker.protocol.batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    PREFIX_SIZE,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
    rewrite_crc,
    write_header,
)
from broker.protocol.compression import compress_in_pieces
from broker.protocol.records import RecordExtent, build_batch, iterate_extents, record_data
from broker.protocol.varint import append_varint

RECORDS_PER_PAUSE = 256
_NOT_IN_A_PLACEHOLDER = CODEC_MASK | DELETE_HORIZON | TRANSACTIONAL | CONTROL


class CompactedBatch(NamedTuple):
    header: BatchHeader
    data: memoryview
    aborted: AbortedTransaction | None


async def compact_batch(
    batch: memoryview, header: BatchHeader, rules: Rules, breather: Breather, *, ends_segment: bool
) -> CompactedBatch | None:
    """None when nothing of it is kept."""
    marker = marker_of(batch, header) if header.is_control else None
    verdict = rules.judge(header, marker, ends_segment=ends_segment)
    if not verdict.keeps_records:
        return _emptied(header, verdict.if_empty)
    data = record_data(batch, header, max_bytes=decompression_bound(header.size))
    kept: list[RecordExtent] = []
    for number, record in enumerate(iterate_extents(data, header.record_count)):
        if header.is_control or rules.keeps_record(header, record):
            kept.append(record)
        if number % RECORDS_PER_PAUSE == 0:
            await breather.pause()
    if not kept:
        return _emptied(header, verdict.if_empty)
    horizon_ms = rules.new_horizon_ms(
        header,
        has_tombstones=not header.is_control and not all(record.has_value for record in kept),
        is_spent_marker=verdict.is_spent_marker,
    )
    if horizon_ms is None and len(kept) == header.record_count:
        return CompactedBatch(header, batch, verdict.aborted)
    if horizon_ms is None:
        records = b"".join(data[record.start : record.end] for record in kept)
    else:
        records = await _moved_timestamps(data, kept, header.base_timestamp - horizon_ms, breather)
    body = bytearray()
    for piece in compress_in_pieces(header.codec, records):
        body += piece
        await breather.pause()
    new_header, rebuilt = _rebuilt(header, kept, body, horizon_ms)
    return CompactedBatch(new_header, rebuilt, verdict.aborted)


def _emptied(header: BatchHeader, if_empty: IfEmpty) -> CompactedBatch | None:
    if if_empty is IfEmpty.DROP:
        return None
    keeps_producer = if_empty is IfEmpty.KEEP_PRODUCER
    # A placeholder is nobody's: replayed as a producer's batch it would open a transaction that
    # no marker ends any more.
    forbidden = CODEC_MASK | DELETE_HORIZON if keeps_producer else _NOT_IN_A_PLACEHOLDER
    timestamp = header.max_timestamp if keeps_producer else -1
    data = build_batch(
        [],
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id if keeps_producer else -1,
        producer_epoch=header.producer_epoch if keeps_producer else -1,
        base_sequence=header.base_sequence if keeps_producer else -1,
        attributes=header.attributes & ~forbidden,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
    )
    return CompactedBatch(read_header(data), memoryview(data), None)


async def _moved_timestamps(
    data: bytes, kept: list[RecordExtent], shift_ms: int, breather: Breather
) -> bytes:
    """The same records when the base timestamp of their batch becomes its delete horizon."""
    out = bytearray()
    for number, record in enumerate(kept):
        body = bytearray(data[record.body : record.body + 1])
        append_varint(body, _within_int64(record.timestamp_delta + shift_ms))
        body += data[record.after_timestamp : record.end]
        append_varint(out, len(body))
        out += body
        if number % RECORDS_PER_PAUSE == 0:
            await breather.pause()
    return bytes(out)


def _within_int64(number: int) -> int:
    """Clients may send any timestamp, and no sum of two of them may stop a compaction."""
    return max(-(2**63), min(number, 2**63 - 1))


def _rebuilt(
    header: BatchHeader, kept: list[RecordExtent], body: bytearray, horizon_ms: int | None
) -> tuple[BatchHeader, memoryview]:
    """In its own codec. Offsets and sequence numbers stay: the bounds are those of the original."""
    max_timestamp = header.max_timestamp
    if not header.attributes & LOG_APPEND_TIME:
        latest = header.base_timestamp + max(record.timestamp_delta for record in kept)
        max_timestamp = _within_int64(latest)
    batch = bytearray(HEADER_SIZE) + body
    new_header = header._replace(
        length=len(batch) - PREFIX_SIZE,
        attributes=header.attributes | (DELETE_HORIZON if horizon_ms is not None else 0),
        base_timestamp=header.base_timestamp if horizon_ms is None else horizon_ms,
        max_timestamp=max_timestamp,
        record_count=len(kept),
    )
    write_header(batch, 0, new_header)
    rewrite_crc(memoryview(batch), 0)
    return read_header(batch), memoryview(batch)
