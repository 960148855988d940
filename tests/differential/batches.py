"""Record batches for scripts: good ones, and ones that are broken in one place."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from broker.protocol.batch import HEADER_SIZE, read_header, rewrite_crc, write_header
from broker.protocol.compression import Codec
from broker.protocol.records import Record, build_batch

NOW_MS = int(time.time() * 1000)
"""One time for both brokers. Kafka refuses records that are more than an hour in the future."""


def batch(*values: bytes | None, keys: Sequence[bytes | None] = (), **more: Any) -> bytes:
    """Values with the keys `k`; `time_ms` and `headers` are those of every record.

    More words: `codec`, `producer_id`, `producer_epoch`, `base_sequence`, `attributes`.
    """
    time_ms = more.pop("time_ms", NOW_MS)
    headers = more.pop("headers", ())
    keys = keys or [b"k"] * len(values)
    records = [
        Record(number, time_ms, key, value, headers)
        for number, (key, value) in enumerate(zip(keys, values, strict=True))
    ]
    return bytes(build_batch(records, **more))


def numbered(producer: tuple[int, int], sequence: int, *values: bytes, **more: Any) -> bytes:
    """A batch of an idempotent producer: `producer` is its id and its epoch."""
    producer_id, epoch = producer
    return batch(
        *(values or (b"v",)),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        **more,
    )


def with_header(data: bytes, *, crc: bool = True, **fields: int) -> bytes:
    """The same batch with other fields in its header; the CRC is made right again."""
    view = bytearray(data)
    write_header(view, 0, read_header(memoryview(view), 0)._replace(**fields))
    if crc:
        rewrite_crc(memoryview(view), 0)
    return bytes(view)


def legacy(magic: int, value: bytes = b"v") -> bytes:
    """One message of the formats before batches (magic 0 and 1)."""
    timestamp = struct.pack(">q", NOW_MS) if magic else b""
    body = struct.pack(">bb", magic, 0) + timestamp
    body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", _crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


def _crc32(data: bytes) -> int:
    from zlib import crc32

    return crc32(data)


def _with_records(data: bytes, change: Callable[[bytearray], None]) -> bytes:
    """The same batch with other bytes after its header."""
    body = bytearray(data[HEADER_SIZE:])
    change(body)
    header = read_header(memoryview(data), 0)
    changed = bytearray(data[:HEADER_SIZE] + body)
    write_header(changed, 0, header._replace(length=len(changed) - 12))
    rewrite_crc(memoryview(changed), 0)
    return bytes(changed)


def broken_batches() -> dict[str, bytes]:
    """Batches that no broker should store, by what is wrong with them."""
    good = batch(b"one", b"two")
    flipped = bytearray(good)
    flipped[-1] ^= 1
    return {
        "no bytes": b"",
        "one byte": b"\0",
        "a header that is cut off": good[:40],
        "records that are cut off": good[:-1],
        "wrong CRC": bytes(flipped),
        "magic 3": with_header(good, magic=3, crc=False),
        "length of zero": with_header(good, length=0, crc=False),
        "negative length": with_header(good, length=-1, crc=False),
        "length beyond the end": with_header(good, length=len(good) + 100, crc=False),
        "length below a header": with_header(good, length=40, crc=False),
        "more records in the header": with_header(good, record_count=3),
        "fewer records in the header": with_header(good, record_count=1),
        "no records in the header": with_header(good, record_count=0),
        "negative record count": with_header(good, record_count=-1),
        "last offset delta too large": with_header(good, last_offset_delta=5),
        "last offset delta too small": with_header(good, last_offset_delta=0),
        "base offset is not zero": with_header(good, base_offset=7),
        "negative base offset": with_header(good, base_offset=-7),
        "control bit": with_header(good, attributes=0x20),
        "unknown codec 5": with_header(good, attributes=5),
        "codec gzip over plain records": with_header(good, attributes=1),
        "codec snappy over plain records": with_header(good, attributes=2),
        "codec lz4 over plain records": with_header(good, attributes=3),
        "codec zstd over plain records": with_header(good, attributes=4),
        "unused attribute bit": with_header(good, attributes=0x80),
        "bytes after the records": _with_records(good, lambda body: body.extend(b"\0\0")),
        "record length too long": _with_records(good, lambda body: body.__setitem__(0, 60)),
        "no records at all": with_header(batch(b"x"), record_count=0)[:HEADER_SIZE],
        "legacy magic 0": legacy(0),
        "legacy magic 1": legacy(1),
        "timestamps out of order": batch(b"x", time_ms=-5),
        "negative base sequence with a producer": batch(b"x", producer_id=5, producer_epoch=0),
        "producer id without an epoch": batch(b"x", producer_id=5, base_sequence=0),
    }


CODECS = {codec.name.lower(): codec for codec in Codec}
