"""The records of a client's batch: unpacked in pieces, walked over, maybe packed anew.

Kafka does this with every batch before it stores it, and so does this broker: one that consumers
could not read would stop them for good. Memory is bounded by the pieces, and the work goes in
steps, so that a batch which unpacks to much more than it looks delays no one else.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from broker.config.property import LONG_MAX
from broker.config.topic import LogConfig
from broker.protocol.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    PREFIX_SIZE,
    BatchHeader,
    TooMuchDataError,
    rewrite_crc,
    write_header,
)
from broker.protocol.compression import Codec, decompress
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.packing import Packer, packer
from broker.protocol.record_walk import RecordWalk, describe
from broker.protocol.unpacking import PIECE_SIZE, Piece, unpack_in_pieces

DECOMPRESSED_PER_BYTE = 1024
SMALLEST_BOUND = 1 << 20
LARGEST_BOUND = 1 << 28
"""What may come out of a compressed batch: some multiple of its size, and never more than this.
A kilobyte of the same text over and over is packed four hundred times smaller by zstd."""

AT_ONCE_BYTES = 1 << 20
"""How much a compressed batch may hold to be unpacked in one piece, which is fastest."""

REQUEST_BUDGET = 4 << 20
"""How much of a request's records is looked at before others get a turn: a few milliseconds."""

_PACKING_COST = 8
"""Packing a byte takes that many times as long as looking at one, gzip even longer."""

_LONG_MIN = -LONG_MAX - 1

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

CheckedRecords = tuple[BatchHeader, bytearray | None]
"""The batch's header with what was mended in it, and the batch itself if it was packed anew."""


class TakesLongError(Exception):
    """The budget of a synchronous check is used up, and nothing is stored: check it in slices.

    Batches that were checked before that may have a corrected largest timestamp, and the CRC to
    it, in the client's memory. A second check accepts them as they are.
    """


class WorkBudget:
    """How many bytes of records may be looked at before others get a turn."""

    __slots__ = ("left",)

    def __init__(self, left: int = REQUEST_BUDGET) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Raises TakesLongError when nothing is left."""
        self.left -= count
        if self.left < 0:
            raise TakesLongError


class RejectedRecordsError(KafkaError):
    """Some records of a batch break a rule of their topic, so none is stored."""

    def __init__(
        self, walk: RecordWalk, header: BatchHeader, config: LogConfig, now_ms: int
    ) -> None:
        self._rejected = walk.rejected or []
        self._base_timestamp = header.base_timestamp
        self._allowed = (
            f"at most message.timestamp.before.max.ms={config.timestamp_before_max_ms} before and "
            f"message.timestamp.after.max.ms={config.timestamp_after_max_ms} after the broker's "
            f"time {now_ms}"
        )
        is_late = any(delta is not None for _, delta in self._rejected)
        ((first, why),) = self.explained(1)
        super().__init__(
            ErrorCode.INVALID_TIMESTAMP if is_late else ErrorCode.INVALID_RECORD,
            f"{walk.rejected_count} of {header.record_count} records are rejected, and none is "
            f"stored; record {first}: {why}",
        )

    @property
    def named_count(self) -> int:
        """Number of rejected records that `explained` can name; the walk keeps a thousand."""
        return len(self._rejected)

    def explained(self, count: int) -> Iterator[tuple[int, str]]:
        """The first `count` rejected records: number in the batch, and the reason.

        The sentences are made here and not before: together they are some hundred times longer
        than the compressed batch that they are about.
        """
        for number, delta in self._rejected[:count]:
            if delta is None:
                yield number, "the record has no key, but the topic is compacted"
            else:
                timestamp = self._base_timestamp + delta
                yield number, f"timestamp {timestamp} is out of range: {self._allowed}"


def decompression_bound(size: int) -> int:
    return min(max(size * DECOMPRESSED_PER_BYTE, SMALLEST_BOUND), LARGEST_BOUND)


def timestamp_bounds(base: int, config: LogConfig, now_ms: int) -> tuple[int, int, int]:
    """The least and the largest delta that the topic takes, and the one of "no timestamp"."""
    absent = min(-1 - base, LONG_MAX)
    if config.message_timestamp_type != "CreateTime":
        return _LONG_MIN, LONG_MAX, absent
    earliest = now_ms - config.timestamp_before_max_ms - base
    latest = min(now_ms + config.timestamp_after_max_ms, LONG_MAX) - base
    return max(min(earliest, LONG_MAX), _LONG_MIN), max(min(latest, LONG_MAX), _LONG_MIN), absent


def needs_check(header: BatchHeader, config: LogConfig) -> bool:
    return (
        config.record_validation_enable
        or config.cleanup_compact
        or _wanted_codec(header, config) is not None
    )


def check_steps(
    batch: memoryview, header: BatchHeader, config: LogConfig, now_ms: int
) -> Generator[int, None, CheckedRecords]:
    """Yields the bytes of each step. Raises KafkaError, CorruptBatchError, TooMuchDataError."""
    bounds = timestamp_bounds(header.base_timestamp, config, now_ms)
    walk = RecordWalk(header.record_count, config.cleanup_compact, *bounds)
    codec = _wanted_codec(header, config)
    out = None if codec is None else _Repacked(batch, header, codec, config)
    for piece in _pieces(batch[HEADER_SIZE : header.size], header):
        if walk.feed(piece):
            break
        yield len(piece)
        if out is not None:
            yield from out.add(piece)
    if walk.finish():
        raise KafkaError(ErrorCode.INVALID_RECORD, describe(walk))
    if walk.rejected_count:
        raise RejectedRecordsError(walk, header, config, now_ms)
    latest = max(header.base_timestamp + walk.largest, -1)
    if config.message_timestamp_type == "CreateTime" and latest != header.max_timestamp:
        # As Kafka does: consumers look for times by what the header says.
        header = header._replace(max_timestamp=latest)
        if out is None:
            write_header(batch, 0, header)
            rewrite_crc(batch, 0)
    return (header, None) if out is None else out.finish(header)


def _pieces(body: memoryview, header: BatchHeader) -> Iterator[Piece]:
    if header.codec != Codec.NONE:
        try:
            # The usual batch is unpacked at once: in half the time, in memory of bounded size.
            yield decompress(header.codec, body, AT_ONCE_BYTES)
            return
        except TooMuchDataError:
            yield b""
    yield from unpack_in_pieces(header.codec, body, decompression_bound(header.size))


def _wanted_codec(header: BatchHeader, config: LogConfig) -> Codec | None:
    """The topic's codec when the batch has another one."""
    wanted = _CODECS.get(config.compression_type)
    return None if wanted is None or wanted == header.codec else wanted


class _Repacked:
    """The same records, byte for byte, in the topic's codec."""

    def __init__(
        self, batch: memoryview, header: BatchHeader, codec: Codec, config: LogConfig
    ) -> None:
        levels = {
            Codec.GZIP: config.compression_gzip_level,
            Codec.LZ4: config.compression_lz4_level,
            Codec.ZSTD: config.compression_zstd_level,
        }
        self._codec = codec
        self._packer: Packer = packer(codec, levels.get(codec))
        self._max_bytes = config.max_message_bytes
        self._out = bytearray(batch[:HEADER_SIZE])

    def add(self, piece: Piece) -> Generator[int, None, None]:
        view = memoryview(piece)
        for start in range(0, len(view), PIECE_SIZE):
            part = view[start : start + PIECE_SIZE]
            self._take(self._packer.compress(part))
            yield len(part) * _PACKING_COST

    def finish(self, header: BatchHeader) -> CheckedRecords:
        self._take(self._packer.flush())
        out = self._out
        attributes = header.attributes & ~CODEC_MASK | self._codec
        new_header = header._replace(length=len(out) - PREFIX_SIZE, attributes=attributes)
        write_header(out, 0, new_header)
        rewrite_crc(memoryview(out), 0)
        return new_header, out

    def _take(self, packed: bytes) -> None:
        self._out += packed
        if len(self._out) > self._max_bytes:
            raise TooMuchDataError(
                f"in the topic's codec the batch exceeds max.message.bytes={self._max_bytes}"
            )
