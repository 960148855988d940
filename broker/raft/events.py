"""What can happen to a member of the quorum, and the plain values that the events carry.

`token` is the shell's: it names a request that waits for its `Reply`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from broker.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class QuorumState:
    """What must survive a crash, or a voter would vote twice in one epoch."""

    epoch: int = 0
    voted_for: int | None = None
    leader_id: int | None = None


class SnapshotId(NamedTuple):
    """A snapshot stands for all records below `end_offset`; `epoch` is that of the last of them."""

    end_offset: int
    epoch: int


class EpochEnd(NamedTuple):
    epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """What to ask whom. The answer comes back with it, and counts only while it is current."""

    to: int
    epoch: int
    offset: int
    last_epoch: int


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """Which snapshot to fetch, and from which leader."""

    leader_id: int
    epoch: int
    snapshot_id: SnapshotId


# What members of the quorum answer each other.


@dataclass(frozen=True, slots=True)
class VoteAnswer:
    epoch: int
    leader_id: int | None
    granted: bool
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class EpochAnswer:
    """To whoever begins or ends an epoch, and to whoever asks for a piece of a snapshot."""

    epoch: int
    leader_id: int | None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """Without an error: a point where the logs part, or a snapshot to begin with, or records."""

    epoch: int
    leader_id: int | None
    high_watermark: int = -1
    diverging: EpochEnd | None = None
    snapshot_id: SnapshotId | None = None
    error: ErrorCode = ErrorCode.NONE


# The events.


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Due at `wake_at`; harmless at any other time."""


@dataclass(frozen=True, slots=True)
class VoteRequested:
    """`epoch` is the candidate's own: for a pre-vote the one it is in, else the one it opened."""

    token: int
    candidate_id: int
    epoch: int
    last_epoch: int
    last_offset: int
    is_pre_vote: bool


@dataclass(frozen=True, slots=True)
class VoteAnswered:
    from_id: int
    asked_epoch: int
    is_pre_vote: bool
    answer: VoteAnswer


@dataclass(frozen=True, slots=True)
class BeginEpochRequested:
    token: int
    epoch: int
    leader_id: int


@dataclass(frozen=True, slots=True)
class BeginEpochAnswered:
    from_id: int
    answer: EpochAnswer


@dataclass(frozen=True, slots=True)
class EndEpochRequested:
    token: int
    epoch: int
    leader_id: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EndEpochAnswered:
    from_id: int
    answer: EpochAnswer


@dataclass(frozen=True, slots=True)
class FetchRequested:
    """`replica_id` -1 is a reader that is no replica."""

    token: int
    replica_id: int
    epoch: int
    fetch_offset: int
    last_fetched_epoch: int


@dataclass(frozen=True, slots=True)
class FetchAnswered:
    """The shell keeps the records of the answer until an `AppendFetched` asks for them."""

    asked: FetchPosition
    answer: FetchAnswer
    has_records: bool


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """No answer. `refused`: nobody listens there, so the process is gone, and its leadership."""

    asked: FetchPosition
    refused: bool


@dataclass(frozen=True, slots=True)
class SnapshotRequested:
    """Somebody asks for a piece of a snapshot. An answer without an error lets it have it."""

    token: int
    replica_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SnapshotProgressed:
    """The leader sent a piece. It is alive, though nothing is fetched from its log meanwhile."""

    asked: SnapshotSource


@dataclass(frozen=True, slots=True)
class SnapshotFetched:
    """All of it is here and on disk, but not in place yet."""

    asked: SnapshotSource


@dataclass(frozen=True, slots=True)
class SnapshotFailed:
    asked: SnapshotSource


@dataclass(frozen=True, slots=True)
class LogFlushed:
    """More of the log is durable: its `flushed_offset` says how much."""


@dataclass(frozen=True, slots=True)
class Resign:
    """The node is about to stop, and takes part in no election of its own any more."""


@dataclass(frozen=True, slots=True)
class MakeWay:
    """A leader cannot do its part for now, and another could. It may stand again later."""


Event = (
    TimePassed
    | VoteRequested
    | VoteAnswered
    | BeginEpochRequested
    | BeginEpochAnswered
    | EndEpochRequested
    | EndEpochAnswered
    | FetchRequested
    | FetchAnswered
    | FetchFailed
    | SnapshotRequested
    | SnapshotProgressed
    | SnapshotFetched
    | SnapshotFailed
    | LogFlushed
    | Resign
    | MakeWay
)
