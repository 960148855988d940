"""Which leader epoch wrote which offsets: the answer to KIP-101 and KIP-279 questions.

Pure. Entries rise strictly, both in epoch and in start offset.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from broker.log import checkpoints

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """`changed` says that the checkpoint on disk is behind."""

    __slots__ = ("_entries", "changed", "latest")

    def __init__(self, entries: Iterable[EpochStart] = ()) -> None:
        self._entries: list[EpochStart] = []
        self.latest = UNDEFINED_EPOCH
        self.changed = False
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)
        self.changed = False

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """An epoch begins once. Entries that a new one contradicts were never committed."""
        if epoch <= self.latest:
            return
        kept = [entry for entry in self._entries if entry.start_offset < start_offset]
        self._entries = [*kept, EpochStart(epoch, start_offset)]
        self.latest = epoch
        self.changed = True

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest known epoch that is not above the asked one, and where it ends."""
        if epoch == UNDEFINED_EPOCH or epoch > self.latest:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest:
            return epoch, log_end
        above = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
        end = self._entries[above].start_offset
        return (self._entries[above - 1].epoch if above else epoch), end

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote this offset, -1 when that is not known."""
        above = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[above - 1].epoch if above else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        self._keep([entry for entry in self._entries if entry.start_offset < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """The epoch that wrote the new first record stays, and begins there."""
        below = [entry for entry in self._entries if entry.start_offset <= start_offset]
        if below and below[-1].start_offset < start_offset:
            above = self._entries[len(below) :]
            self._keep([EpochStart(below[-1].epoch, start_offset), *above])
        elif len(below) > 1:
            self._keep(self._entries[len(below) - 1 :])

    def clear(self) -> None:
        self._keep([])

    def _keep(self, entries: list[EpochStart]) -> None:
        if entries != self._entries:
            self._entries = entries
            self.latest = entries[-1].epoch if entries else UNDEFINED_EPOCH
            self.changed = True

    def encode(self) -> bytes:
        return checkpoints.encode(f"{epoch} {start}" for epoch, start in self._entries)

    @classmethod
    def decode(cls, content: bytes, path: str) -> LeaderEpochs:
        try:
            return cls(
                EpochStart(int(epoch), int(start))
                for epoch, start in checkpoints.decode(content, path)
            )
        except ValueError as problem:
            raise checkpoints.CorruptCheckpointError(
                f"{path} holds a line that is no leader epoch"
            ) from problem
