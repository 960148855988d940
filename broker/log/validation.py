"""What a batch must be before it is written: its header is read, its records only when needed."""

from __future__ import annotations

from typing import NamedTuple

from broker.config.topic import LogConfig
from broker.log.origin import Origin
from broker.protocol.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    BatchHeader,
    CorruptBatchError,
    read_header,
    stamp_append_time,
    verify_crc,
)
from broker.protocol.compression import Codec
from broker.protocol.control import EndTransactionMarker, read_marker
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.records import SMALLEST_RECORD, Record, build_batch, iterate_records

MAX_RECORDS_PER_BYTE = 64
"""No codec packs records denser. It bounds how many offsets a lying header can take."""

DECOMPRESSED_PER_BYTE = 1024
SMALLEST_BOUND = 1 << 20
LARGEST_BOUND = 1 << 28
"""What may come out of a compressed batch: some multiple of its size, and never more than this."""

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


def check(
    records: memoryview, config: LogConfig, now_ms: int, origin: Origin
) -> tuple[memoryview, list[CheckedBatch]]:
    """The same memory unless batches had to be packed anew; all batches are good, or it raises."""
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "there is no record batch to append")
    if config.compression_type != "producer" and _must_repack(records, config, origin):
        records = _repack(records, config)
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
                _check_keys(records[position : position + header.size], header)
            batches.append(CheckedBatch(header, position, marker))
            position += header.length + 12
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
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {header.size} bytes exceeds max.message.bytes={config.max_message_bytes}",
        )
    count = header.record_count
    if count <= 0 or count != header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"a batch counts {count} records, but its last offset delta is "
            f"{header.last_offset_delta}",
        )
    body = header.length + 12 - HEADER_SIZE
    codec = header.attributes & 0x07
    if count * SMALLEST_RECORD > body and (codec == 0 or count > body * MAX_RECORDS_PER_BYTE):
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


def _check_keys(batch: memoryview, header: BatchHeader) -> None:
    bound = decompression_bound(header.size)
    for expected, record in enumerate(iterate_records(batch, header, max_bytes=bound)):
        if record.key is None:
            raise KafkaError(
                ErrorCode.INVALID_RECORD,
                f"record {expected} has no key, but the topic is compacted",
            )
        if record.offset != header.base_offset + expected:
            raise KafkaError(
                ErrorCode.INVALID_RECORD, f"record {expected} has offset delta {record.offset}"
            )


def _must_repack(records: memoryview, config: LogConfig, origin: Origin) -> bool:
    wanted = _CODECS[config.compression_type]
    if origin is not Origin.CLIENT:
        return False
    position = 0
    while position + HEADER_SIZE <= len(records):
        try:
            header = read_header(records, position)
        except CorruptBatchError:
            return False
        if header.codec != wanted:
            return True
        position += header.size
    return False


def _repack(records: memoryview, config: LogConfig) -> memoryview:
    """Every batch in the topic's codec. A batch is checked first: nothing corrupt is laundered."""
    wanted = _CODECS[config.compression_type]
    packed = bytearray()
    position = 0
    try:
        while position < len(records):
            header = read_header(records, position)
            if not verify_crc(records, position, header):
                raise CorruptBatchError("its CRC does not match")
            batch = records[position : position + header.size]
            bound = decompression_bound(header.size)
            found = list(iterate_records(batch, header, max_bytes=bound))
            packed += _packed(found, header, wanted, config)
            position += header.size
    except CorruptBatchError as problem:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"the batch at byte {position} is corrupt: {problem}"
        ) from None
    return memoryview(packed)


def _packed(found: list[Record], header: BatchHeader, codec: Codec, config: LogConfig) -> bytearray:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return build_batch(
        found,
        codec=codec,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        attributes=header.attributes & ~0x07,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        level=levels.get(codec),
    )
