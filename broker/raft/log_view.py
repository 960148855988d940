"""What the rules see of the metadata log."""

from __future__ import annotations

from typing import Protocol

from broker.raft.errors import UnfitStateError
from broker.raft.events import QuorumState, SnapshotId


class LogView(Protocol):
    """Offsets, never records. All ends are exclusive."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def flushed_offset(self) -> int:
        """What is below it survives a loss of power. Truncation takes it along."""

    @property
    def last_epoch(self) -> int:
        """Of the last record, or of the snapshot when no record follows it; 0 when both lack."""

    @property
    def snapshot_id(self) -> SnapshotId | None:
        """The latest; there is one whenever the log does not start at 0."""

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch here that is not above the asked one, and where it ends.

        When all epochs here are above it: the asked one, and where the log starts.
        """


def check_fit(state: QuorumState, log: LogView) -> None:
    """Raises UnfitStateError when a member must not take part with what it found on its disk."""
    if state.epoch < log.last_epoch:
        raise UnfitStateError(
            f"the quorum state is of epoch {state.epoch}, but the log holds epoch "
            f"{log.last_epoch}: votes given since then are forgotten"
        )
    if log.flushed_offset != log.end_offset:
        raise UnfitStateError(
            f"the log ends at {log.end_offset}, but is flushed up to {log.flushed_offset} only: "
            "flush what was found before anybody is told of it"
        )
    snapshot = log.snapshot_id
    if log.start_offset > 0 and snapshot is None:
        raise UnfitStateError(
            f"the log starts at {log.start_offset}, and no snapshot tells what came before"
        )
    if snapshot is not None and not log.start_offset <= snapshot.end_offset <= log.end_offset:
        raise UnfitStateError(
            f"the snapshot ends at {snapshot.end_offset}, "
            f"outside the log from {log.start_offset} to {log.end_offset}"
        )
