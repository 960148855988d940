"""What a client's batch must be, one refusal at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.config.topic import LogConfig
from broker.disk.memory import MemoryDisk
from broker.log.log import Origin
from broker.protocol.batch import BatchHeader, read_header, rewrite_crc, write_header
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import (
    NOW_MS,
    append,
    batch,
    marker,
    open_log,
    read_all,
    values,
)


def changed(change: Callable[[BatchHeader], BatchHeader]) -> memoryview:
    """A batch whose header lies, with a CRC that is right."""
    records = batch(b"a", b"b")
    write_header(records, 0, change(read_header(records)))
    rewrite_crc(records, 0)
    return records


async def refusal(records: memoryview, config: LogConfig | None = None) -> ErrorCode:
    log = await open_log(MemoryDisk(), config=config)
    with pytest.raises(KafkaError) as refused:
        append(log, records)
    assert (log.end_offset, log.size_bytes) == (0, 0), "nothing is stored"
    append(log, batch())
    return refused.value.code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda h: h._replace(magic=1), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (lambda h: h._replace(record_count=3), ErrorCode.INVALID_RECORD),
        (lambda h: h._replace(last_offset_delta=5), ErrorCode.INVALID_RECORD),
        (lambda h: h._replace(record_count=0, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
        (
            lambda h: h._replace(record_count=1 << 20, last_offset_delta=(1 << 20) - 1),
            ErrorCode.INVALID_RECORD,
        ),
        (lambda h: h._replace(base_offset=7), ErrorCode.INVALID_RECORD),
        (lambda h: h._replace(attributes=0x20), ErrorCode.INVALID_RECORD),
        (lambda h: h._replace(attributes=0x40), ErrorCode.INVALID_RECORD),
        (lambda h: h._replace(attributes=0x08), ErrorCode.INVALID_TIMESTAMP),
        (lambda h: h._replace(attributes=0x05), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (lambda h: h._replace(producer_id=4, base_sequence=-1), ErrorCode.INVALID_RECORD),
    ],
)
async def test_a_lying_header_is_refused(
    change: Callable[[BatchHeader], BatchHeader], code: ErrorCode
) -> None:
    assert await refusal(changed(change)) is code


async def test_nothing_is_no_append() -> None:
    assert await refusal(memoryview(b"")) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("place", [17, 21, 40, 70])
async def test_a_changed_bit_is_refused(place: int) -> None:
    records = batch(b"a", b"b")
    records[place] ^= 1
    assert await refusal(records) in (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    )


@pytest.mark.parametrize("size", [5, 60, 61, 70])
async def test_a_batch_cut_off_is_refused(size: int) -> None:
    assert await refusal(batch(b"a" * 50)[:size]) is ErrorCode.CORRUPT_MESSAGE


async def test_a_batch_above_max_message_bytes_is_refused() -> None:
    records = batch(b"a" * 100)
    config = LogConfig(max_message_bytes=len(records) - 1)
    log = await open_log(MemoryDisk(), config=config)
    with pytest.raises(KafkaError) as refused:
        append(log, records)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


async def test_old_timestamps_are_refused_when_the_topic_says_so() -> None:
    config = LogConfig(timestamp_before_max_ms=1000)
    assert await refusal(batch(time_ms=NOW_MS - 1001), config) is ErrorCode.INVALID_TIMESTAMP


async def test_a_compacted_topic_needs_keys() -> None:
    config = LogConfig(cleanup_compact=True)
    records = batch(b"a", b"b", keys=[b"k", None])
    assert await refusal(records, config) is ErrorCode.INVALID_RECORD


async def test_all_batches_of_an_append_are_stored_or_none() -> None:
    good, bad = batch(b"a"), batch(b"b")
    bad[70] ^= 1
    assert await refusal(memoryview(bytearray(bytes(good) + bytes(bad)))) is (
        ErrorCode.CORRUPT_MESSAGE
    )


async def test_a_coordinator_may_write_control_batches() -> None:
    log = await open_log(MemoryDisk())
    records = marker(3, committed=True)
    assert log.append(records, leader_epoch=0, origin=Origin.COORDINATOR).base_offset == 0


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sent", [Codec.NONE, Codec.LZ4])
async def test_a_topics_codec_is_what_its_batches_have(wanted: str, sent: Codec) -> None:
    log = await open_log(MemoryDisk(), config=LogConfig(compression_type=wanted))
    answer = append(log, batch(b"a", b"b", codec=sent, producer_id=5, sequence=8))
    assert (answer.base_offset, answer.last_offset) == (0, 1)
    ((header, _),) = await read_all(log)
    codecs = ["uncompressed", "gzip", "snappy", "lz4", "zstd"]
    assert header.codec == codecs.index(wanted)
    assert (header.producer_id, header.base_sequence) == (5, 8)
    assert await values(log) == [b"a", b"b"]
