"""What a log must hold, kept beside it by a test: every batch ever written, and what is certain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from broker.log.log import Log
from broker.log.producer_state import Producer
from broker.log.producer_table import ProducerTable
from broker.log.recovery import replay_producer
from broker.log.segment import Segment
from broker.protocol.batch import BatchHeader, iterate_headers, verify_crc
from broker.protocol.records import Record
from tests.unit.broker.log.builders import read_all, records_of


@dataclass
class Written:
    header: BatchHeader
    data: bytes

    @cached_property
    def records(self) -> list[Record]:
        return list(records_of([(self.header, self.data)]))


@dataclass
class Model:
    """`start` and `end` are ranges while an operation that failed may or may not have worked."""

    batches: list[Written] = field(default_factory=list)
    synced_end: int = 0
    start_low: int = 0
    start_high: int = 0
    forgotten_before: int = 0  # producers are not remembered from before this offset

    @property
    def end(self) -> int:
        return self.batches[-1].header.last_offset + 1 if self.batches else self.forgotten_before

    def add(self, data: bytes) -> None:
        for position, header in iterate_headers(memoryview(data)):
            self.batches.append(Written(header, data[position : position + header.size]))

    def cut(self, end_offset: int) -> None:
        self.batches = [b for b in self.batches if b.header.last_offset < end_offset]
        self.synced_end = min(self.synced_end, end_offset)

    def clear(self, offset: int) -> None:
        self.batches = []
        self.synced_end = self.start_low = self.start_high = self.forgotten_before = offset

    def present(self) -> list[Written]:
        """What the log must hold of them, byte for byte."""
        return self.batches

    def between(self, first: int, end: int) -> list[Written]:
        return [b for b in self.present() if first <= b.header.base_offset < end]

    def table(self) -> ProducerTable:
        return table_of(self.batches)

    def window(self, producer_id: int) -> list[Written]:
        return [b for b in self.batches if _is_data_of(b, producer_id)][-5:]


def table_of(batches: Iterable[Written]) -> ProducerTable:
    table = ProducerTable()
    for written in batches:
        replay_producer(table, written.header, memoryview(written.data), 0)
    return table


def _is_data_of(written: Written, producer_id: int) -> bool:
    return written.header.producer_id == producer_id and not written.header.is_control


def _comparable(producer: Producer) -> Producer:
    return producer._replace(seen_ms=0, last_timestamp=0)


async def check_content(log: Log, model: Model) -> None:
    """Every invariant of one log but its producers', and that it holds what the model says."""
    assert log.failure is None
    for segment in log.segments:
        await segment.file.warm(0, segment.size)
    assert log.end_offset == model.end
    assert model.start_low <= log.start_offset <= model.start_high
    # The order in which the marks of a log stand, always.
    assert log.start_offset <= log.last_stable_offset <= log.high_watermark <= log.end_offset
    assert log.recovery_point <= log.end_offset
    assert log.segments[0].base_offset <= log.start_offset
    _check_segments(log, model)
    await _check_reading(log, model)
    _check_epochs(log, model)


def _check_segments(log: Log, model: Model) -> None:
    bases = [segment.base_offset for segment in log.segments]
    assert all(a < b for a, b in pairwise(bases))
    for segment, end in zip(log.segments, [*bases[1:], log.end_offset], strict=True):
        expected = model.between(segment.base_offset, end)
        content = segment.file.pread(segment.size + 1, 0)
        assert content == b"".join(written.data for written in expected)
        assert segment.size == len(content)
        assert segment.end_offset == end
        _check_batches(memoryview(content), segment)
        _check_indexes(segment, expected)


def _check_batches(content: memoryview, segment: Segment) -> None:
    """Each batch is whole, and offsets rise."""
    offset = segment.base_offset
    for position, header in iterate_headers(content):
        assert verify_crc(content, position, header)
        assert header.base_offset >= offset
        offset = header.last_offset + 1


def _check_indexes(segment: Segment, expected: list[Written]) -> None:
    position = 0
    largest = -1
    by_position: dict[int, int] = {}
    largest_at: dict[int, int] = {}
    for written in expected:
        by_position[position] = written.header.last_offset
        assert segment.locate(written.header.last_offset) == position
        assert segment.locate(written.header.base_offset) == position
        position += len(written.data)
        largest = max(largest, written.header.max_timestamp)
        if written.header.max_timestamp == largest:
            largest_at[written.header.last_offset] = largest
    for relative, at in segment.offsets.entries():
        assert by_position[at] == segment.base_offset + relative
    for timestamp, relative in segment.times.entries():
        assert largest_at[segment.base_offset + relative] == timestamp
    assert segment.largest_timestamp == largest


async def _check_reading(log: Log, model: Model) -> None:
    found = await read_all(log)
    expected = [b for b in model.present() if b.header.last_offset >= log.start_offset]
    assert [data for _, data in found] == [written.data for written in expected]


def _check_epochs(log: Log, model: Model) -> None:
    """Epochs and their starts rise, and each batch lies in the epoch that wrote it."""
    entries = log.epochs.entries
    assert all(a.epoch < b.epoch for a, b in pairwise(entries))
    assert all(a.start_offset < b.start_offset for a, b in pairwise(entries))
    assert all(entry.start_offset <= log.end_offset for entry in entries)
    for written in model.between(log.start_offset, log.end_offset):
        assert log.epochs.epoch_at(written.header.base_offset) == written.header.leader_epoch


def check_producers(log: Log, model: Model) -> None:
    """Sequences, open and aborted transactions, and the last stable offset are the model's."""
    table = model.table()
    assert {p: _comparable(v) for p, v in log.producers.producers.items()} == {
        p: _comparable(v) for p, v in table.producers.items()
    }
    check_stability(log, table)
    aborted = [entry[:3] for entry in log.aborted_transactions(log.start_offset, log.end_offset)]
    assert aborted == [entry for entry in aborted_in(model) if entry[2] >= log.start_offset]


def check_stability(log: Log, table: ProducerTable) -> None:
    """`table` has seen the whole log, so it knows which ends are not replicated."""
    assert log.producers.open_transactions == table.open_transactions
    assert log.last_stable_offset == stable_offset(log, table)


def stable_offset(log: Log, table: ProducerTable) -> int:
    unstable = table.first_unstable_offset(log.high_watermark)
    if unstable is None:
        return log.high_watermark
    return max(min(unstable, log.high_watermark), log.start_offset)


def aborted_in(model: Model) -> list[tuple[int, int, int]]:
    """Producer, first offset, and the offset of the marker."""
    table = ProducerTable()
    return [
        (entry.producer_id, entry.first_offset, entry.last_offset)
        for written in model.batches
        for entry in replay_producer(table, written.header, memoryview(written.data), 0)
    ]
