"""Small batches that would become a lot of work: refused, or done in small steps."""

from __future__ import annotations

import asyncio

import pytest
import zstandard

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.protocol.batch import HEADER_SIZE, PREFIX_SIZE, read_header, rewrite_crc, write_header
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.records import Record, build_batch
from tests.unit.broker.log.builders import NOW_MS, append, batch, open_log, read_all, values


def dense(count: int) -> memoryview:
    """The same tiny record over and over, even with the same offset delta."""
    one = build_batch([Record(0, NOW_MS, b"", b"")])
    data = bytes(one[HEADER_SIZE:]) * count
    packed = build_batch([Record(0, NOW_MS, None, None)], codec=Codec.ZSTD)[:HEADER_SIZE]
    packed += zstandard.ZstdCompressor().compress(data)
    header = read_header(packed)
    write_header(
        packed,
        0,
        header._replace(
            length=len(packed) - PREFIX_SIZE, last_offset_delta=count - 1, record_count=count
        ),
    )
    rewrite_crc(memoryview(packed), 0)
    return memoryview(packed)


async def refused(disk: Disk, config: LogConfig, records: memoryview) -> ErrorCode:
    log = await open_log(disk, config=config)
    with pytest.raises(KafkaError) as problem:
        append(log, records)
    assert log.end_offset == 0
    await log.close()
    return problem.value.code


async def test_more_records_than_any_codec_packs_are_refused(disk: Disk) -> None:
    bomb = dense(300_000)
    assert len(bomb) < 30_000
    assert await refused(disk, LogConfig(), bomb) is ErrorCode.INVALID_RECORD


async def test_they_are_refused_before_they_are_unpacked(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> bytes:
        raise AssertionError("unpacked")

    monkeypatch.setattr("broker.log.record_check.decompress", never)
    monkeypatch.setattr("broker.log.record_check.unpack_in_pieces", never)
    bomb = dense(300_000)
    config = LogConfig(compression_type="gzip")
    assert await refused(disk, config, bomb) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("name", ["producer", "gzip", "zstd", "snappy"])
async def test_what_unpacks_to_more_than_its_size_can_explain_is_refused(
    disk: Disk, name: str
) -> None:
    large = batch(bytes(30 << 20), codec=Codec.ZSTD)
    assert len(large) < 20_000
    assert await refused(disk, LogConfig(compression_type=name), large) is (
        ErrorCode.MESSAGE_TOO_LARGE
    )


async def test_a_batch_that_grows_beyond_the_limit_when_it_is_repacked_is_refused(
    disk: Disk,
) -> None:
    large = batch(bytes(50_000), codec=Codec.ZSTD)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=10_000)
    assert await refused(disk, config, large) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("name", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("codec", list(Codec))
async def test_repacked_records_are_the_same_records(disk: Disk, name: str, codec: Codec) -> None:
    log = await open_log(disk, config=LogConfig(compression_type=name))
    append(log, batch(b"a" * 300, None, b"c", codec=codec, producer_id=3, epoch=0, sequence=0))
    ((header, _),) = await read_all(log)
    assert Codec(header.codec).name.lower() == name.replace("uncompressed", "none")
    assert (header.record_count, header.producer_id, header.base_sequence) == (3, 3, 0)
    assert await values(log) == [b"a" * 300, None, b"c"]
    await log.close()


async def test_highly_repetitive_records_are_still_taken(disk: Disk) -> None:
    text = b"the same line of some log again and again " * 25
    many = batch(*[text] * 5000, codec=Codec.ZSTD)
    assert len(many) * 200 < 5000 * len(text)
    for name in ("producer", "gzip"):
        config = LogConfig(compression_type=name, cleanup_compact=True)
        log = await open_log(disk, config=config, directory=f"{name}-0")
        assert append(log, memoryview(bytearray(many))).last_offset == 4999
        await log.close()


async def test_looking_for_a_time_among_many_records_gives_others_a_turn(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch(*[b""] * 50_000, codec=Codec.ZSTD, time_ms=NOW_MS - 50_000))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await asyncio.sleep(0)
    before = turns
    found = await log.find_by_timestamp(NOW_MS - 1, log.end_offset)
    assert found is not None
    assert found.offset == 49_999
    counting.cancel()
    assert turns - before > 5
    await log.close()
