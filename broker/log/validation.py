"""What a batch must be before it is written: its header is read, its records only when needed."""

from __future__ import annotations

from typing import NamedTuple

from broker.config.topic import LogConfig
from broker.log.origin import Origin
from broker.protocol.batch import (
    CODEC_MASK,
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    PREFIX_SIZE,
    BatchHeader,
    CorruptBatchError,
    read_header,
    rewrite_crc,
    stamp_append_time,
    verify_crc,
    write_header,
)
from broker.protocol.checksum import crc32c
from broker.protocol.compression import Codec, TooMuchDataError, compress
from broker.protocol.control import EndTransactionMarker, read_marker
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.records import (
    SMALLEST_RECORD,
    iterate_extents,
    iterate_records,
    record_data,
)

MAX_RECORDS_PER_BYTE = 8
"""Of compressed data. The same empty record over and over gives less than three, because each has
its own offset delta. It bounds how many offsets a lying header can take."""

DECOMPRESSED_PER_BYTE = 1024
SMALLEST_BOUND = 1 << 20
LARGEST_BOUND = 1 << 28
"""What may come out of a compressed batch: some multiple of its size, and never more than this.
A kilobyte of the same text over and over is packed four hundred times smaller by zstd."""

UNPACKED_AT_ONCE = 32
"""How many times max.message.bytes a batch may unpack to when its records are looked at before it
is written: meanwhile nobody else is served."""

_NOT_FOR_CLIENTS = CONTROL | DELETE_HORIZON | LOG_APPEND_TIME

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


class CheckedBatch(NamedTuple):
    header: BatchHeader
    position: int
    marker: EndTransactionMarker | None  # of a control batch that ends a transaction


def decompression_bound(size: int) -> int:
    return min(max(size * DECOMPRESSED_PER_BYTE, SMALLEST_BOUND), LARGEST_BOUND)


def plain_header(records: memoryview, config: LogConfig, now_ms: int) -> BatchHeader | None:
    """The header of what most clients send, found good in few steps.

    That is one batch that needs no more than a look at its header and its CRC, without a producer
    id. None for anything else, good or bad: `check` tells which.
    """
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
        or count != last_offset_delta + 1
        or not 0 < count * SMALLEST_RECORD <= size - HEADER_SIZE
        or size > config.max_message_bytes
        or max_timestamp - now_ms > config.timestamp_after_max_ms
        or now_ms - base_timestamp > config.timestamp_before_max_ms
        or config.cleanup_compact
        or config.compression_type != "producer"
        or config.message_timestamp_type != "CreateTime"
        or crc32c(records[CRC_START:]) != crc
    ):
        return None
    return header


def check(
    records: memoryview, config: LogConfig, now_ms: int, origin: Origin
) -> tuple[memoryview, list[CheckedBatch]]:
    """The same memory unless batches had to be packed anew; all batches are good, or it raises."""
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "there is no record batch to append")
    batches: list[CheckedBatch] = []
    position = 0
    end = len(records)
    try:
        while position < end:
            header = read_header(records, position)
            _check_header(header, config, now_ms, origin)
            if not verify_crc(records, position, header):
                raise CorruptBatchError("its CRC does not match")
            marker = None
            if header.attributes & CONTROL:
                marker = marker_of(records[position : position + header.size], header)
            elif config.cleanup_compact and origin is Origin.CLIENT:
                _check_keys(records[position : position + header.size], header, config)
            batches.append(CheckedBatch(header, position, marker))
            position += header.length + 12
        if config.compression_type != "producer" and origin is Origin.CLIENT:
            return _in_the_topics_codec(records, batches, config)
    except TooMuchDataError as problem:
        # Clients split a batch that is refused in this way, and send it again.
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, str(problem)) from None
    except CorruptBatchError as problem:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"the batch at byte {position} is corrupt: {problem}"
        ) from None
    return records, batches


def stamp(records: memoryview, batches: list[CheckedBatch], now_ms: int) -> list[CheckedBatch]:
    """LogAppendTime: our time in place of the producer's, in the memory that will be written."""
    stamped: list[CheckedBatch] = []
    for batch in batches:
        stamp_append_time(records, batch.position, now_ms)
        header = read_header(records, batch.position)
        stamped.append(CheckedBatch(header, batch.position, batch.marker))
    return stamped


def _check_header(header: BatchHeader, config: LogConfig, now_ms: int, origin: Origin) -> None:
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
    if header.max_timestamp - now_ms > config.timestamp_after_max_ms or (
        now_ms - header.base_timestamp > config.timestamp_before_max_ms
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


def _unpacked(batch: memoryview, header: BatchHeader, config: LogConfig) -> bytes:
    bound = max(config.max_message_bytes * UNPACKED_AT_ONCE, SMALLEST_BOUND)
    return record_data(batch, header, max_bytes=min(bound, decompression_bound(header.size)))


def _check_keys(batch: memoryview, header: BatchHeader, config: LogConfig) -> None:
    most = config.max_message_bytes // SMALLEST_RECORD
    if header.record_count > most:
        raise TooMuchDataError(
            f"a batch of {header.record_count} records for a compacted topic, at most {most} are "
            f"taken with max.message.bytes={config.max_message_bytes}"
        )
    records = iterate_extents(_unpacked(batch, header, config), header.record_count)
    for expected, record in enumerate(records):
        if record.key is None:
            raise KafkaError(
                ErrorCode.INVALID_RECORD,
                f"record {expected} has no key, but the topic is compacted",
            )
        if record.offset_delta != expected:
            raise KafkaError(
                ErrorCode.INVALID_RECORD,
                f"record {expected} has offset delta {record.offset_delta}",
            )


def _in_the_topics_codec(
    records: memoryview, batches: list[CheckedBatch], config: LogConfig
) -> tuple[memoryview, list[CheckedBatch]]:
    wanted = _CODECS[config.compression_type]
    if all(batch.header.codec == wanted for batch in batches):
        return records, batches
    packed = bytearray()
    repacked: list[CheckedBatch] = []
    for header, position, marker in batches:
        batch = _repacked(records[position : position + header.size], header, wanted, config)
        new_header = read_header(batch)
        _check_size(new_header, config)
        repacked.append(CheckedBatch(new_header, len(packed), marker))
        packed += batch
    return memoryview(packed), repacked


def _repacked(batch: memoryview, header: BatchHeader, codec: Codec, config: LogConfig) -> bytearray:
    """The records stay byte for byte what they were."""
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    data = _unpacked(batch, header, config)
    if header.record_count * SMALLEST_RECORD > len(data):
        raise CorruptBatchError(f"{len(data)} bytes cannot hold {header.record_count} records")
    out = bytearray(batch[:HEADER_SIZE])
    out += compress(codec, data, levels.get(codec))
    attributes = header.attributes & ~CODEC_MASK | codec
    new_header = header._replace(length=len(out) - PREFIX_SIZE, attributes=attributes)
    write_header(out, 0, new_header)
    rewrite_crc(memoryview(out), 0)
    return out
