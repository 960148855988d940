"""What the rules of replication look at in a log. `broker.log.log.Log` is such a view."""

from __future__ import annotations

from typing import Protocol

UNDEFINED_EPOCH = -1


class EpochsView(Protocol):
    @property
    def latest(self) -> int:
        """The epoch that wrote last or leads now, -1 when no epoch is known."""

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote this offset, or will; -1 when that is not known."""


class LogView(Protocol):
    """`start_offset` <= `last_stable_offset` <= `high_watermark` <= `end_offset`, exclusive."""

    @property
    def start_offset(self) -> int: ...

    @property
    def last_stable_offset(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def epochs(self) -> EpochsView: ...

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest known epoch that is not above the asked one, and where it ends."""
