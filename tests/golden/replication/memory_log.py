"""A log of named values in memory, as the rules of replication see one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.log.epochs import EpochStart, LeaderEpochs


class Record(NamedTuple):
    epoch: int
    value: str


class MemoryLog:
    """`synced` is where a power loss cuts it off."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.records: list[Record] = []
        self.epochs = LeaderEpochs()
        self.high_watermark = 0
        self.synced = 0
        self._synced_epochs: tuple[EpochStart, ...] = ()
        self._saved_high_watermark = 0

    @property
    def end_offset(self) -> int:
        return self.start_offset + len(self.records)

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, self.end_offset)

    def at(self, offset: int) -> Record:
        return self.records[offset - self.start_offset]

    def between(self, first: int, up_to: int) -> list[Record]:
        return self.records[max(first - self.start_offset, 0) : max(up_to - self.start_offset, 0)]

    def append(self, epoch: int, value: str) -> int:
        return self.append_replicated([Record(epoch, value)])

    def append_replicated(self, records: Sequence[Record]) -> int:
        first = self.end_offset
        for record in records:
            self.epochs.assign(record.epoch, self.end_offset)
            assert record.epoch == self.epochs.latest, "an epoch is filed under a later one"
            self.records.append(record)
        return first

    def advance_high_watermark(self, offset: int) -> None:
        self.high_watermark = max(self.high_watermark, min(offset, self.end_offset))

    def truncate_to(self, offset: int) -> None:
        del self.records[max(offset - self.start_offset, 0) :]
        self.epochs.truncate_from_end(self.end_offset)
        self.high_watermark = min(self.high_watermark, self.end_offset)
        self.flush()

    def start_over(self, offset: int) -> None:
        self.records.clear()
        self.epochs.clear()
        self.start_offset = self.high_watermark = offset
        self.flush()

    def raise_start(self, offset: int) -> None:
        assert offset <= self.high_watermark, "a log begins above its high watermark"
        if offset > self.start_offset:
            del self.records[: offset - self.start_offset]
            self.start_offset = offset
            self.epochs.truncate_from_start(offset)
            # A segment is synced before it may be deleted.
            self.synced = max(self.synced, offset)

    def flush(self) -> None:
        self.synced = self.end_offset
        self._synced_epochs = self.epochs.entries
        self._saved_high_watermark = self.high_watermark

    def restart(self, *, power_lost: bool) -> None:
        """What the next start finds. An epoch that wrote nothing is not found again."""
        if power_lost:
            del self.records[max(self.synced - self.start_offset, 0) :]
        self.epochs = LeaderEpochs()
        for number, record in enumerate(self.records):
            self.epochs.assign(record.epoch, self.start_offset + number)
        saved = max(self._saved_high_watermark, self.start_offset)
        self.high_watermark = min(saved, self.end_offset)
        self.flush()
