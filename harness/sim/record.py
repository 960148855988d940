"""What the clients of a run saw, in order: enough to say whether the log kept its promises."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.native.produce_queue import Outcome
from harness.sim.history_rows import HistoryRows
from harness.sim.transaction_counts import TransactionCounts


@dataclass(slots=True)
class Sent:
    client: str
    partition: int
    value: str
    sent_s: float
    outcome: Outcome | None = None  # None: the run ended before it was known
    done_s: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One record, as a poll or the last reading found it."""

    partition: int
    offset: int
    value: str
    client: str
    seen_s: float


@dataclass(slots=True)
class Commit:
    """An offset that a client has committed for its own group, in this order."""

    client: str
    partition: int
    offset: int
    """Another one each time."""
    is_acknowledged: bool = False
    """Otherwise it may have been kept or not."""


@dataclass(slots=True)
class GroupCommit:
    """An offset that a member has committed for its group, after it was given what lies before."""

    group: str
    partition: int
    offset: int
    is_acknowledged: bool = False
    is_refused: bool = False
    """Certainly not committed. Neither: it may have been kept or not."""


@dataclass(slots=True)
class Record:
    sends: list[Sent] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    last_commits: dict[tuple[str, int], int | None] = field(default_factory=dict)
    """By client and partition: what the coordinators told when all was healed and settled."""
    group_commits: list[GroupCommit] = field(default_factory=list)
    last_group_commits: dict[tuple[str, int], int | None] = field(default_factory=dict)
    """By group and partition, likewise."""
    delivered: int = 0
    """Records that members of groups were given."""
    last_reading: dict[int, list[Seen]] = field(default_factory=dict)
    """By partition: everything, read when all was healed and settled."""
    asked_again_s: float | None = None
    """When every partition was sent a last write, to see whether it is back."""
    polls: int = 0
    failed_polls: int = 0
    follower_reads: int = 0
    """Records that a node had which did not lead."""
    moves: int = 0
    failed_moves: int = 0
    """Refused, or not known to be done."""
    history: HistoryRows = field(default_factory=HistoryRows)
    """What transactional clients did and saw."""
    transactions: TransactionCounts = field(default_factory=TransactionCounts)
    transactions_read_back: bool = True
    """False: the last reading of the topics of transactions did not come to their ends."""
