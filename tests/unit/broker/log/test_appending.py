"""Appends on a log: duplicates, transactions, failing disks."""

from __future__ import annotations

import errno

import pytest

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.log import Origin
from broker.protocol.batch import verify_crc
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import (
    NOW_MS,
    Clock,
    append,
    append_rolling,
    batch,
    crashed,
    end_transaction,
    marker,
    open_log,
    read_all,
    reopened,
    values,
)

SMALL = LogConfig(segment_bytes=300)


async def test_a_duplicate_is_answered_with_its_first_offset_and_stored_once(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch())
    for _ in range(10):
        answer = append(log, batch(b"a", b"b", producer_id=1, sequence=0))
        assert (answer.base_offset, answer.last_offset) == (1, 2)
    assert answer.duplicate
    assert log.end_offset == 3
    await log.close()


@pytest.mark.parametrize("is_clean", [True, False])
async def test_the_window_of_five_survives_a_restart(disk: Disk, is_clean: bool) -> None:
    log = await open_log(disk, config=SMALL)
    for sequence in range(7):
        await append_rolling(log, batch(producer_id=1, sequence=sequence))
    if is_clean:
        await log.close()
        log = await reopened(log)
    else:
        log = await crashed(log)
    for sequence in range(2, 7):
        answer = append(log, batch(producer_id=1, sequence=sequence))
        assert (answer.base_offset, answer.duplicate) == (sequence, True)
    with pytest.raises(KafkaError):
        append(log, batch(producer_id=1, sequence=1))
    await log.close()


async def test_a_failed_write_leaves_no_trace_and_takes_the_log_offline(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory)
    append(log, batch(b"a", producer_id=1, sequence=0))
    memory.fail("append", times=1)
    for _ in range(2):  # the second one meets no fault: it is refused because the log is offline
        with pytest.raises(KafkaError) as refused:
            append(log, batch(b"b", producer_id=1, sequence=1))
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaError):
        log.read(0, 100, up_to=1, at_least_one=True)
    await log.reopen(Breather())
    answer = append(log, batch(b"b", producer_id=1, sequence=1))
    assert (answer.base_offset, answer.duplicate) == (1, False)
    assert await values(log) == [b"a", b"b"]
    await log.close()


async def test_a_disk_that_still_fails_keeps_the_log_offline(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    append(log, batch(b"a"))
    memory.fail(error=errno.EIO)
    with pytest.raises(KafkaError):
        append(log, batch(b"b"))
    with pytest.raises(OSError, match="Input/output"):
        await log.reopen(Breather())
    assert log.failure is not None
    memory.heal()
    await log.reopen(Breather())
    assert await values(log) == [b"a"]
    await log.close()


async def test_an_open_transaction_holds_the_stable_offset_back(disk: Disk) -> None:
    log = await open_log(disk)
    append(log, batch())
    append(log, batch(producer_id=1, sequence=0, transactional=True))
    append(log, batch())
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 1
    end_transaction(log, 1, committed=False)
    assert log.last_stable_offset == 1, "the marker is not replicated yet"
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 4
    assert [entry[:3] for entry in log.aborted_transactions(0, 4)] == [(1, 1, 3)]
    await log.close()


async def test_transactions_survive_a_crash_open_or_aborted(disk: Disk) -> None:
    log = await open_log(disk, config=SMALL)
    await append_rolling(log, batch(producer_id=1, sequence=0, transactional=True))
    end_transaction(log, 1, committed=False)
    await append_rolling(log, batch(producer_id=2, sequence=0, transactional=True))
    for _ in range(9):
        await append_rolling(log, batch())
    log = await crashed(log)
    log.advance_high_watermark(log.end_offset)
    assert log.last_stable_offset == 2
    assert [entry[:3] for entry in log.aborted_transactions(0, 12)] == [(1, 0, 1)]
    end_transaction(log, 2, committed=True)
    log.advance_high_watermark(log.end_offset)
    assert log.last_stable_offset == log.end_offset
    await log.close()


async def test_aborted_transactions_are_found_though_their_marker_is_segments_later(
    disk: Disk,
) -> None:
    log = await open_log(disk, config=SMALL)
    await append_rolling(log, batch(producer_id=1, sequence=0, transactional=True))
    for _ in range(12):
        await append_rolling(log, batch())
    assert len(log.segments) > 3
    end_transaction(log, 1, committed=False)
    assert [entry.first_offset for entry in log.aborted_transactions(0, 1)] == [0]
    await log.close()


async def test_more_than_a_segment_can_hold_is_refused(disk: Disk) -> None:
    log = await open_log(disk, config=SMALL)
    with pytest.raises(KafkaError) as refused:
        append(log, batch(b"x" * 400))
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    await log.close()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
async def test_a_refused_batch_is_what_the_client_sent_and_is_refused_alike_again(
    memory: MemoryDisk, codec: Codec
) -> None:
    """The broker's time is stamped on a batch that is written, not on one that is refused."""
    log = await open_log(memory, config=LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, batch(b"a", producer_id=1, sequence=0))
    gap = batch(b"b", b"c", producer_id=1, sequence=5, codec=codec)
    sent = bytes(gap)
    for _ in range(2):
        with pytest.raises(KafkaError) as refused:
            append(log, gap)
        assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert bytes(gap) == sent
    await log.close()


async def test_a_batch_that_cannot_be_written_is_what_the_client_sent(memory: MemoryDisk) -> None:
    log = await open_log(memory, config=LogConfig(message_timestamp_type="LogAppendTime"))
    records = batch(b"a", producer_id=1, sequence=0)
    sent = bytes(records)
    memory.fail("append", times=1)
    with pytest.raises(KafkaError) as refused:
        append(log, records)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert bytes(records) == sent
    await log.reopen(Breather())
    log.clock = Clock(NOW_MS + 5000)
    assert append(log, records).log_append_time_ms == NOW_MS + 5000
    ((stored, data),) = await read_all(log)
    assert (stored.max_timestamp, stored.timestamp_type) == (NOW_MS + 5000, 1)
    assert verify_crc(memoryview(data), 0, stored)
    await log.close()


async def test_a_sequence_that_was_aborted_is_not_acknowledged_again(memory: MemoryDisk) -> None:
    """I05: the client would take the aborted offset for that of its new record."""
    log = await open_log(memory)
    first = batch(b"old", producer_id=1, sequence=0, transactional=True)
    log.append(first, leader_epoch=0, origin=Origin.CLIENT)
    log.append(marker(1, committed=False), leader_epoch=0, origin=Origin.COORDINATOR)
    again = batch(b"new", producer_id=1, sequence=0, transactional=True)
    with pytest.raises(KafkaError) as refused:
        log.append(again, leader_epoch=0, origin=Origin.CLIENT)
    assert refused.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    following = batch(b"new", producer_id=1, sequence=1, transactional=True)
    assert log.append(following, leader_epoch=0, origin=Origin.CLIENT).base_offset == 2
    await log.close()


async def test_a_retry_of_a_committed_batch_is_still_acknowledged(memory: MemoryDisk) -> None:
    log = await open_log(memory)
    for number, committed in enumerate((False, True)):
        data = batch(b"x", producer_id=1, sequence=number, transactional=True)
        log.append(data, leader_epoch=0, origin=Origin.CLIENT)
        log.append(marker(1, committed=committed), leader_epoch=0, origin=Origin.COORDINATOR)
    again = batch(b"x", producer_id=1, sequence=1, transactional=True)
    appended = log.append(again, leader_epoch=0, origin=Origin.CLIENT)
    assert (appended.duplicate, appended.base_offset) == (True, 2)
    await log.close()
