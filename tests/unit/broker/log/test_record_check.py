"""What the records inside a client's batch must be, whatever packs them."""

from __future__ import annotations

import asyncio
import struct
import tracemalloc
from random import Random

import pytest
import zstandard

from broker.config.topic import LogConfig
from broker.disk.memory import MemoryDisk
from broker.log import validation
from broker.log.breather import Breather
from broker.log.log import Log, Origin
from broker.log.record_check import RejectedRecordsError, TakesLongError, WorkBudget
from broker.protocol.batch import (
    CRC_START,
    HEADER_SIZE,
    PREFIX_SIZE,
    read_header,
    rewrite_crc,
    write_header,
)
from broker.protocol.checksum import crc32c
from broker.protocol.compression import Codec, compress
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.record_walk import COMPILED, is_plain
from broker.protocol.records import Record, build_batch
from tests.unit.broker.log.builders import NOW_MS, append, batch, open_log, read_all, values

COMPRESSED = [codec for codec in Codec if codec]
BOTH_WAYS = pytest.mark.parametrize("producer_id", [-1, 7], ids=["few steps", "all steps"])
"""A batch without a producer id is checked in fewer steps than others."""


def with_body(records: memoryview, body: bytes, count: int | None = None) -> memoryview:
    """The same header around another body, with a CRC that is right."""
    out = bytearray(records[:HEADER_SIZE]) + body
    header = read_header(records)
    count = header.record_count if count is None else count
    header = header._replace(
        length=len(out) - PREFIX_SIZE, record_count=count, last_offset_delta=count - 1
    )
    write_header(out, 0, header)
    rewrite_crc(memoryview(out), 0)
    return memoryview(out)


def body_of(records: memoryview) -> bytes:
    return bytes(records[HEADER_SIZE:])


async def refusal(records: memoryview, config: LogConfig | None = None) -> KafkaError:
    log = await open_log(MemoryDisk(), config=config)
    with pytest.raises(KafkaError) as refused:
        append(log, records)
    assert (log.end_offset, log.size_bytes) == (0, 0), "nothing is stored"
    return refused.value


@BOTH_WAYS
@pytest.mark.parametrize("codec", COMPRESSED)
async def test_noise_is_no_compressed_data(codec: Codec, producer_id: int) -> None:
    noise = Random(codec).randbytes(500)
    sent = with_body(
        batch(b"a", b"b", codec=codec, producer_id=producer_id, sequence=min(producer_id, 0)), noise
    )
    assert (await refusal(sent)).code is ErrorCode.CORRUPT_MESSAGE


@BOTH_WAYS
@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("count", [1, 2, 4])
async def test_a_batch_holds_as_many_records_as_its_header_counts(
    codec: Codec, count: int, producer_id: int
) -> None:
    sent = batch(
        b"a" * 9,
        b"b" * 9,
        b"c" * 9,
        codec=codec,
        producer_id=producer_id,
        sequence=min(producer_id, 0),
    )
    error = await refusal(with_body(sent, body_of(sent), count))
    assert error.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", list(Codec))
async def test_records_that_do_not_count_from_zero_are_refused(codec: Codec) -> None:
    sent = batch(b"a", b"b", codec=codec)
    records = [Record(offset, NOW_MS, b"k", b"v") for offset in (0, 2)]
    other = build_batch(records, codec=codec, base_offset=0)
    error = await refusal(with_body(sent, bytes(other[HEADER_SIZE:])))
    assert error.code is ErrorCode.INVALID_RECORD
    assert "record 1 has another offset delta" in error.message


@pytest.mark.parametrize("size", [3, 3000], ids=["in one piece", "in many"])
async def test_zstd_data_without_their_end_are_refused(size: int) -> None:
    """All records are there, but a consumer that reads on for the checksum is stuck."""
    sent = batch(*[b"a" * 1000] * size, codec=Codec.ZSTD)
    packer = zstandard.ZstdCompressor(write_checksum=True)
    body = packer.compress(zstandard.ZstdDecompressor().decompress(body_of(sent)))
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    for wrong in (body[:-2], body + b"?", body + skippable[:-1]):
        assert (await refusal(with_body(sent, wrong))).code is ErrorCode.CORRUPT_MESSAGE
    log = await open_log(MemoryDisk())
    append(log, with_body(sent, body + skippable))
    assert log.end_offset == size


@BOTH_WAYS
@pytest.mark.parametrize("codec", list(Codec))
async def test_the_latest_time_is_that_of_the_records(codec: Codec, producer_id: int) -> None:
    sent = batch(b"a", b"b", codec=codec, producer_id=producer_id, sequence=min(producer_id, 0))
    header = read_header(sent)
    write_header(sent, 0, header._replace(max_timestamp=NOW_MS + 50_000_000))
    rewrite_crc(sent, 0)
    log = await open_log(MemoryDisk())
    append(log, sent)
    ((stored, _),) = await read_all(log)
    assert stored.max_timestamp == NOW_MS + 1
    assert await values(log) == [b"a", b"b"]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
async def test_records_without_a_key_are_named(codec: Codec) -> None:
    keys = [None if number in (3, 8) else b"k" for number in range(10)]
    sent = batch(*[b"v"] * 10, keys=keys, codec=codec)
    error = await refusal(sent, LogConfig(cleanup_compact=True))
    assert isinstance(error, RejectedRecordsError)
    assert error.code is ErrorCode.INVALID_RECORD
    assert [number for number, _ in error.explained(1000)] == [3, 8]
    assert "2 of 10 records" in error.message


async def test_records_out_of_time_are_named() -> None:
    times = [NOW_MS, NOW_MS + 5_000_000, -1, NOW_MS - 5_000_000]
    records = [Record(number, time, b"k", b"v") for number, time in enumerate(times)]
    config = LogConfig(timestamp_before_max_ms=4_000_000)
    error = await refusal(memoryview(build_batch(records)), config)
    assert isinstance(error, RejectedRecordsError)
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [number for number, _ in error.explained(1000)] == [1, 3]


async def test_trusted_producers_are_not_checked() -> None:
    sent = with_body(batch(b"a", codec=Codec.LZ4), b"noise")
    log = await open_log(MemoryDisk(), config=LogConfig(record_validation_enable=False))
    append(log, sent)
    assert log.end_offset == 1
    compacted = LogConfig(record_validation_enable=False, cleanup_compact=True)
    assert (await refusal(sent, compacted)).code is ErrorCode.CORRUPT_MESSAGE


def bomb(codec: Codec) -> memoryview:
    """Three records that unpack to 30 megabytes, in as many compressed streams."""
    record = build_batch([Record(0, NOW_MS, b"k", bytes(10 << 20))])[HEADER_SIZE:]
    parts = []
    for number in range(3):
        part = bytearray(record)
        part[part.index(b"\x02k") - 1] = number * 2  # the offset delta
        parts.append(compress(codec, part, 1 if codec is Codec.GZIP else None))
    empty = batch(*[b""] * 3, codec=codec)
    write_header(empty, 0, read_header(empty)._replace(max_timestamp=NOW_MS))
    return with_body(empty, b"".join(parts))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4])
async def test_much_data_from_few_bytes_is_read_in_slices_and_in_bounded_memory(
    codec: Codec,
) -> None:
    sent = bomb(codec)
    log = await open_log(MemoryDisk())
    with pytest.raises(TakesLongError):
        append_within(log, sent, WorkBudget())
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    serving = asyncio.create_task(others())
    tracemalloc.start()
    checked = await log.check(sent, Breather(slice_ms=0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    serving.cancel()
    assert peak < 3 << 20
    assert turns > 100
    assert len(sent) * 100 < 30 << 20
    log.append(sent, leader_epoch=0, origin=Origin.CLIENT, checked=checked)
    assert log.end_offset == 3


def append_within(log: Log, records: memoryview, budget: WorkBudget) -> None:
    log.append(records, leader_epoch=0, origin=Origin.CLIENT, budget=budget)


async def test_a_budget_is_shared_by_the_batches_of_a_request() -> None:
    log = await open_log(MemoryDisk())
    budget = WorkBudget(10_000)
    append_within(log, batch(bytes(6000), codec=Codec.ZSTD), budget)
    with pytest.raises(TakesLongError):
        append_within(log, batch(bytes(6000), codec=Codec.ZSTD), budget)
    assert log.end_offset == 1


@pytest.mark.skipif(not COMPILED, reason="no compiled code: make setup needs gcc and python3-dev")
async def test_the_short_way_to_a_plain_header_takes_nothing_that_the_long_way_refuses() -> None:
    taken = 0
    random = Random(7)
    config = LogConfig(timestamp_before_max_ms=100_000)
    for _ in range(3000):
        age_ms = random.choice([0, 0, 0, 99_990, 100_001, 200_000, -4_000_000])
        texts = [b"v" * random.randint(0, 3)] * random.randint(1, 3)
        sent = batch(*texts, time_ms=NOW_MS - age_ms)
        for _ in range(random.choice([0, 1, 1, 2])):
            sent[random.randrange(len(sent))] = random.randrange(256)
        if random.random() < 0.8:
            rewrite_crc_of(sent)
        is_short = is_plain(sent, NOW_MS - 100_000, NOW_MS + config.timestamp_after_max_ms)
        header = validation._plain_header_by_steps(sent, config, NOW_MS, None)
        assert not is_short or header is not None, bytes(sent)
        taken += is_short
    assert 300 < taken < 2500


async def test_a_batch_whose_records_are_all_as_old_is_refused() -> None:
    log = await open_log(MemoryDisk(), config=LogConfig(timestamp_before_max_ms=1000))
    append(log, batch(b"young"))  # the short way is taken once the leader's epoch has begun
    with pytest.raises(KafkaError) as caught:
        log.append(batch(b"v", time_ms=NOW_MS - 2000), leader_epoch=0, origin=Origin.CLIENT)
    assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
    assert log.end_offset == 1


async def test_times_before_the_epoch_count_as_none_in_the_header() -> None:
    """As in Kafka: -1 is the least that a header says, or searches by time would go astray."""
    log = await open_log(MemoryDisk())
    append(log, batch(b"first"))
    append(log, batch(b"old", time_ms=-5))
    [_, (header, _)] = await read_all(log)
    assert (header.base_timestamp, header.max_timestamp) == (-5, -1)


def rewrite_crc_of(sent: memoryview) -> None:
    struct.pack_into(">I", sent, CRC_START - 4, crc32c(sent[CRC_START:]))
