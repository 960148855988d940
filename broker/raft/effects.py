"""What the rules want done. The shell does it in the order of the list."""

from __future__ import annotations

from dataclasses import dataclass

from broker.raft.events import (
    EpochAnswer,
    FetchAnswer,
    QuorumState,
    SnapshotId,
    SnapshotSource,
    VoteAnswer,
)
from broker.raft.roles import Role

Answer = VoteAnswer | EpochAnswer | FetchAnswer


@dataclass(frozen=True, slots=True)
class Persist:
    """Nothing that stands after it is done, or said, before this is durable."""

    state: QuorumState


@dataclass(frozen=True, slots=True)
class RoleChanged:
    """Whoever waits for a fetch or an append of the former epoch is told that it is over.

    What becomes of such an append is not known, also when the high watermark passes its offset
    later: by then another record may stand there.
    """

    role: Role
    epoch: int
    leader_id: int | None


@dataclass(frozen=True, slots=True)
class Reply:
    token: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class AskVote:
    to: int
    epoch: int
    last_epoch: int
    last_offset: int
    is_pre_vote: bool


@dataclass(frozen=True, slots=True)
class AnnounceLeader:
    to: int
    epoch: int


@dataclass(frozen=True, slots=True)
class AnnounceEnd:
    """`successors`: the other voters, the one that has most of the log first."""

    to: int
    epoch: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AppendLeaderChange:
    """The first record of an epoch. Nothing else of the epoch is appended before it."""

    epoch: int
    voters: tuple[int, ...]
    granted_by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TruncateTo:
    offset: int


@dataclass(frozen=True, slots=True)
class AppendFetched:
    """Append the records of the answer at `base_offset`, flush, then say `LogFlushed`."""

    base_offset: int


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    """Ends in `SnapshotFetched` or `SnapshotFailed`."""

    source: SnapshotSource


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """The snapshot takes the place of the whole log, which then starts and ends behind it."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class HighWatermarkAdvanced:
    """All below `offset` is committed, on a leader perhaps before it has flushed it itself."""

    offset: int


Effect = (
    Persist
    | RoleChanged
    | Reply
    | AskVote
    | AnnounceLeader
    | AnnounceEnd
    | AppendLeaderChange
    | TruncateTo
    | AppendFetched
    | FetchSnapshot
    | InstallSnapshot
    | HighWatermarkAdvanced
)
