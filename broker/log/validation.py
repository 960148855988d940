"""What a batch must be before it is written: its header here, its records in record_check."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

from broker.config.property import LONG_MAX
from broker.config.topic import LogConfig
from broker.log.breather import Breather
from broker.log.origin import Origin
from broker.log.record_check import (
    AT_ONCE_BYTES,
    WorkBudget,
    check_steps,
    decompression_bound,
    needs_check,
    timestamp_bounds,
)
from broker.protocol.batch import (
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    PREFIX_SIZE,
    BatchHeader,
    CorruptBatchError,
    TooMuchDataError,
    read_header,
    rewrite_crc,
    stamp_append_time,
    verify_crc,
    write_header,
)
from broker.protocol.checksum import crc32c
from broker.protocol.compression import Codec, decompress
from broker.protocol.control import EndTransactionMarker, read_marker
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.record_walk import is_plain, largest_delta
from broker.protocol.records import SMALLEST_RECORD, iterate_records

MAX_RECORDS_PER_BYTE = 8
"""Of compressed data. The same empty record over and over gives less than three, because each has
its own offset delta. It bounds how many offsets a lying header can take."""

_NOT_FOR_CLIENTS = CONTROL | DELETE_HORIZON | LOG_APPEND_TIME


class CheckedBatch(NamedTuple):
    header: BatchHeader
    position: int
    marker: EndTransactionMarker | None  # of a control batch that ends a transaction


Checked = tuple[memoryview, list[CheckedBatch]]
"""The same memory unless batches had to be packed anew, and the batches in it."""


def plain_header(
    records: memoryview, config: LogConfig, now_ms: int, budget: WorkBudget | None
) -> BatchHeader | None:
    """The header of what most clients send, found good in few steps.

    That is one batch without a producer id that is stored as it came. None for anything else, good
    or bad: `check` tells which.
    """
    size = len(records)
    if (
        size > config.max_message_bytes
        or config.cleanup_compact
        or config.compression_type != "producer"
        or config.message_timestamp_type != "CreateTime"
    ):
        return None
    if config.record_validation_enable and size <= AT_ONCE_BYTES:
        latest_ms = min(now_ms + config.timestamp_after_max_ms, LONG_MAX)
        if is_plain(records, now_ms - config.timestamp_before_max_ms, latest_ms):
            if budget is not None:
                budget.spend(size)
            return read_header(records)
    return _plain_header_by_steps(records, config, now_ms, budget)


def _plain_header_by_steps(
    records: memoryview, config: LogConfig, now_ms: int, budget: WorkBudget | None
) -> BatchHeader | None:
    try:
        header = read_header(records)
    except CorruptBatchError:
        return None
    (base_offset, length, _, magic, crc, attributes, last_offset_delta, base_timestamp,
     max_timestamp, producer_id, _, _, count) = header  # fmt: skip
    size = length + PREFIX_SIZE
    if (
        size != len(records)
        or magic != MAGIC
        or base_offset
        or attributes > Codec.ZSTD
        or attributes < 0
        or producer_id >= 0
        or max_timestamp < -1
        or count != last_offset_delta + 1
        or not 0 < count <= (size - HEADER_SIZE) * MAX_RECORDS_PER_BYTE
        or crc32c(records[CRC_START:]) != crc
    ):
        return None
    if not config.record_validation_enable:
        is_timely = (
            max_timestamp - now_ms <= config.timestamp_after_max_ms
            and now_ms - base_timestamp <= config.timestamp_before_max_ms
        )
        return header if is_timely else None
    data: memoryview | bytes = records[HEADER_SIZE:]
    if len(data) > AT_ONCE_BYTES:
        return None
    if attributes:
        try:
            data = decompress(attributes, data, AT_ONCE_BYTES)
        except TooMuchDataError:
            if budget is not None:
                budget.spend(budget.left + 1)
            return None
        except CorruptBatchError:
            return None
    if budget is not None:
        budget.spend(len(data))
    bounds = timestamp_bounds(base_timestamp, config, now_ms)
    if largest_delta(data, count, False, *bounds) != max_timestamp - base_timestamp:
        return None
    return header


def check(
    records: memoryview,
    config: LogConfig,
    now_ms: int,
    origin: Origin,
    budget: WorkBudget | None = None,
) -> Checked:
    """All batches are good, or it raises: KafkaError, or TakesLongError within a budget."""
    steps = _check_steps(records, config, now_ms, origin)
    try:
        while True:
            work = next(steps)
            if budget is not None:
                budget.spend(work)
    except StopIteration as done:
        return cast("Checked", done.value)


async def check_in_slices(
    records: memoryview, config: LogConfig, now_ms: int, breather: Breather
) -> Checked:
    """Same as `check` of a client's batches, with a turn for others in between."""
    steps = _check_steps(records, config, now_ms, Origin.CLIENT)
    try:
        while True:
            next(steps)
            await breather.pause()
    except StopIteration as done:
        return cast("Checked", done.value)


def _check_steps(
    records: memoryview, config: LogConfig, now_ms: int, origin: Origin
) -> Generator[int, None, Checked]:
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "there is no record batch to append")
    batches: list[CheckedBatch] = []
    repacked: dict[int, bytearray] = {}
    position = 0
    end = len(records)
    try:
        while position < end:
            header = read_header(records, position)
            size = header.size
            is_walked = origin is Origin.CLIENT and needs_check(header, config)
            _check_header(header, config, now_ms, origin, is_walked=is_walked)
            if not verify_crc(records, position, header):
                raise CorruptBatchError("its CRC does not match")
            marker = None
            if header.attributes & CONTROL:
                marker = marker_of(records[position : position + size], header)
            elif is_walked:
                batch = records[position : position + size]
                header, packed = yield from check_steps(batch, header, config, now_ms)
                if packed is not None:
                    repacked[position] = packed
            batches.append(CheckedBatch(header, position, marker))
            position += size
    except TooMuchDataError as problem:
        # Clients split a batch that is refused in this way, and send it again.
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, str(problem)) from None
    except CorruptBatchError as problem:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"the batch at byte {position} is corrupt: {problem}"
        ) from None
    return _joined(records, batches, repacked) if repacked else (records, batches)


def _joined(
    records: memoryview, batches: list[CheckedBatch], repacked: dict[int, bytearray]
) -> Checked:
    """Batches that were packed anew, and those between them that were not, side by side."""
    out = bytearray()
    placed: list[CheckedBatch] = []
    for header, position, marker in batches:
        placed.append(CheckedBatch(header, len(out), marker))
        out += repacked.get(position) or records[position : position + header.size]
    return memoryview(out), placed


@contextmanager
def stamped(records: memoryview, batches: list[CheckedBatch], now_ms: int) -> Iterator[None]:
    """LogAppendTime: our time in place of the producer's, in the memory that is written meanwhile.

    When that fails they are again what the client sent: a client must not set this timestamp type,
    so a second attempt with stamped batches would fail for a reason that is not the client's.
    """
    for batch in batches:
        stamp_append_time(records, batch.position, now_ms)
    try:
        yield
    except KafkaError:
        for batch in batches:
            write_header(records, batch.position, batch.header)
            rewrite_crc(records, batch.position)
        raise


def _check_header(
    header: BatchHeader, config: LogConfig, now_ms: int, origin: Origin, *, is_walked: bool
) -> None:
    if header.magic != MAGIC:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"a batch has magic {header.magic}, only {MAGIC} is stored",
        )
    if header.length + 12 > config.max_message_bytes and origin is Origin.CLIENT:
        _check_size(header, config)
    count = header.record_count
    if count <= 0 or count != header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"a batch counts {count} records, but its last offset delta is "
            f"{header.last_offset_delta}",
        )
    body = header.length + 12 - HEADER_SIZE
    codec = header.attributes & 0x07
    if count * SMALLEST_RECORD > body and (
        codec == 0 or count > min(body * MAX_RECORDS_PER_BYTE, config.max_message_bytes)
    ):
        raise KafkaError(ErrorCode.INVALID_RECORD, f"{body} bytes cannot hold {count} records")
    if codec > Codec.ZSTD:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"there is no codec {codec}")
    if origin is Origin.CLIENT and (
        header.attributes & _NOT_FOR_CLIENTS
        or header.base_offset
        or (header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0))
    ):
        _check_client_fields(header)
    if not is_walked and (
        header.max_timestamp - now_ms > config.timestamp_after_max_ms
        or now_ms - header.base_timestamp > config.timestamp_before_max_ms
    ):
        _check_timestamps(header, config, now_ms)


def _check_size(header: BatchHeader, config: LogConfig) -> None:
    if header.size > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {header.size} bytes exceeds max.message.bytes={config.max_message_bytes}",
        )


def _check_client_fields(header: BatchHeader) -> None:
    if header.attributes & (CONTROL | DELETE_HORIZON):
        raise KafkaError(ErrorCode.INVALID_RECORD, "clients must not write control batches")
    if header.attributes & LOG_APPEND_TIME:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP, "clients must not set the timestamp type LogAppendTime"
        )
    if header.base_offset != 0:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"a base offset must be 0, not {header.base_offset}"
        )
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"producer {header.producer_id} sends epoch {header.producer_epoch} and sequence "
            f"{header.base_sequence}, neither may be negative",
        )


def _check_timestamps(header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    """By what the header says of the first and the latest record; -1 is no timestamp."""
    if config.message_timestamp_type != "CreateTime" or header.is_control:
        return
    earliest, latest = header.base_timestamp, header.max_timestamp
    if latest - now_ms > config.timestamp_after_max_ms:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {latest} is more than message.timestamp.after.max.ms="
            f"{config.timestamp_after_max_ms} ahead of the broker's time {now_ms}",
        )
    if now_ms - earliest > config.timestamp_before_max_ms and earliest != -1:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {earliest} is more than message.timestamp.before.max.ms="
            f"{config.timestamp_before_max_ms} behind the broker's time {now_ms}",
        )


def marker_of(batch: memoryview, header: BatchHeader) -> EndTransactionMarker | None:
    """None when the control batch ends no transaction, or when compaction emptied it."""
    bound = decompression_bound(header.size)
    for record in iterate_records(batch, header, max_bytes=bound):
        return read_marker(record)
    return None
