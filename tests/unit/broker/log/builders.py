"""Batches, clocks and logs for the tests of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from broker.config.topic import LogConfig
from broker.disk.interface import ColdReadError, Disk, FileSlice
from broker.log.breather import Breather
from broker.log.log import Appended, Log, Origin
from broker.protocol.batch import TRANSACTIONAL, BatchHeader, iterate_headers
from broker.protocol.compression import Codec
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.records import Record, build_batch, iterate_records

NOW_MS = 1_700_000_000_000


@dataclass
class Clock:
    """A wall clock that stands still until it is told otherwise."""

    time_ms: int = NOW_MS

    def now_ms(self) -> int:
        return self.time_ms


def batch(
    *values: bytes | None,
    codec: int = Codec.NONE,
    time_ms: int = NOW_MS,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    keys: Sequence[bytes | None] | None = None,
    offset: int = 0,
    leader_epoch: int = -1,
) -> memoryview:
    """As a client sends it; `offset` and `leader_epoch` are set by those who replicate."""
    values = values or (b"value",)
    keys = keys or [b"key"] * len(values)
    records = [
        Record(offset + number, time_ms + number, key, value)
        for number, (key, value) in enumerate(zip(keys, values, strict=True))
    ]
    return memoryview(
        build_batch(
            records,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=epoch if producer_id < 0 or epoch >= 0 else 0,
            base_sequence=sequence,
            attributes=TRANSACTIONAL if transactional else 0,
            leader_epoch=leader_epoch,
        )
    )


def marker(
    producer_id: int, *, committed: bool, epoch: int = 0, coordinator_epoch: int = 0
) -> memoryview:
    return memoryview(
        build_marker_batch(
            EndTransactionMarker(committed, coordinator_epoch),
            producer_id=producer_id,
            producer_epoch=epoch,
            time_ms=NOW_MS,
        )
    )


async def open_log(
    disk: Disk,
    *,
    clock: Clock | None = None,
    was_clean: bool = False,
    recovery_point: int = 0,
    start_offset: int = 0,
    random: Random | None = None,
    config: LogConfig | None = None,
    directory: str = "orders-0",
) -> Log:
    return await Log.open(
        disk,
        directory,
        config or LogConfig(),
        clock=clock or Clock(),
        was_clean=was_clean,
        recovery_point=recovery_point,
        start_offset=start_offset,
        breather=Breather(),
        random=random,
    )


async def reopened(log: Log, *, was_clean: bool = True) -> Log:
    return await Log.open(
        log.disk,
        log.directory,
        log.config,
        clock=log.clock,
        was_clean=was_clean,
        recovery_point=log.recovery_point,
        start_offset=log.start_offset,
        high_watermark=log.high_watermark,
        breather=Breather(),
    )


async def crashed(log: Log) -> Log:
    """The process dies without closing anything, and another one finds the files."""
    await log.settle()  # a thread that works for the old process would disturb the new one
    log.abandon()
    return await reopened(log, was_clean=False)


def append(log: Log, records: memoryview, *, leader_epoch: int = 0) -> Appended:
    return log.append(records, leader_epoch=leader_epoch, origin=Origin.CLIENT)


def end_transaction(
    log: Log, producer_id: int, *, committed: bool, epoch: int = 0, coordinator_epoch: int = 0
) -> Appended:
    records = marker(
        producer_id, committed=committed, epoch=epoch, coordinator_epoch=coordinator_epoch
    )
    return log.append(records, leader_epoch=0, origin=Origin.COORDINATOR)


async def append_rolling(log: Log, records: memoryview) -> Appended:
    while not log.can_append(len(records)):
        await log.roll()
    return append(log, records)


async def read_slice(
    log: Log, offset: int, *, max_bytes: int = 1 << 30, up_to: int | None = None
) -> FileSlice | None:
    while True:
        try:
            return log.read(
                offset,
                max_bytes,
                up_to=log.end_offset if up_to is None else up_to,
                at_least_one=True,
            )
        except ColdReadError as cold:
            await cold.warm()


async def read_all(log: Log) -> list[tuple[BatchHeader, bytes]]:
    """Every batch from the start offset on, as a consumer would get them."""
    found: list[tuple[BatchHeader, bytes]] = []
    offset = log.start_offset
    while (piece := await read_slice(log, offset)) is not None:
        data = memoryview(piece.read())
        for position, header in iterate_headers(data):
            found.append((header, bytes(data[position : position + header.size])))
            offset = header.last_offset + 1
    return found


def records_of(batches: Sequence[tuple[BatchHeader, bytes]]) -> Iterator[Record]:
    for header, data in batches:
        yield from iterate_records(memoryview(data), header, max_bytes=1 << 24)


async def values(log: Log) -> list[bytes | None]:
    data = [entry for entry in await read_all(log) if not entry[0].is_control]
    return [record.value for record in records_of(data)]
