"""A metadata log without a disk, which knows what was flushed and can lose the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from broker.raft.events import SnapshotId


class Record(NamedTuple):
    epoch: int
    value: str


class MemoryLog:
    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.records = list(records)
        self.start_offset = 0
        self.epoch_before_start = 0
        self.flushed_offset = len(self.records)
        self.snapshot_id: SnapshotId | None = None

    @property
    def end_offset(self) -> int:
        return self.start_offset + len(self.records)

    @property
    def last_epoch(self) -> int:
        return self.records[-1].epoch if self.records else self.epoch_before_start

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        count = bisect_right(self.records, epoch, key=lambda record: record.epoch)
        if count:
            return self.records[count - 1].epoch, self.start_offset + count
        if self.start_offset and self.epoch_before_start <= epoch:
            return self.epoch_before_start, self.start_offset
        return epoch, self.start_offset

    def epoch_at(self, offset: int) -> int:
        if offset < self.start_offset:
            assert offset == self.start_offset - 1
            return self.epoch_before_start
        return self.records[offset - self.start_offset].epoch

    def read(self, offset: int, count_max: int) -> Sequence[Record]:
        begin = offset - self.start_offset
        assert begin >= 0
        return self.records[begin : begin + count_max]

    def append(self, records: Iterable[Record]) -> None:
        self.records.extend(records)

    def flush(self) -> None:
        self.flushed_offset = self.end_offset

    def truncate_to(self, offset: int) -> None:
        del self.records[offset - self.start_offset :]
        self.flushed_offset = min(self.flushed_offset, offset)

    def crash(self, *, lucky_count: int = 0) -> None:
        """What was not flushed is gone, but for some records that reached the disk by chance."""
        self.truncate_to(min(self.flushed_offset + lucky_count, self.end_offset))
        self.flush()

    def take_snapshot(self, end_offset: int) -> None:
        """Of all below `end_offset`, which is dropped."""
        self.snapshot_id = SnapshotId(end_offset, self.epoch_at(end_offset - 1))
        del self.records[: end_offset - self.start_offset]
        self.start_offset, self.epoch_before_start = self.snapshot_id

    def install_snapshot(self, snapshot_id: SnapshotId) -> None:
        self.records = []
        self.snapshot_id = snapshot_id
        self.start_offset, self.epoch_before_start = snapshot_id
        self.flush()
