"""The parts that a member plays, each with what only that part has to remember."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import inf

from broker.raft.events import SnapshotSource


class Role(Enum):
    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


@dataclass(slots=True)
class Unattached:
    """Knows no leader, or asks around for one. A voter stands for election at `deadline`."""

    deadline: float
    role = Role.UNATTACHED


@dataclass(slots=True)
class Follower:
    """Believes in its leader for `patience_s` after each answer."""

    deadline: float
    patience_s: float
    heard_at: float = -inf
    leader_high_watermark: int = -1
    """What the leader said when it agreed with all of this log."""

    snapshot: SnapshotSource | None = None
    """On its way from the leader; meanwhile nothing is fetched."""

    role = Role.FOLLOWER


@dataclass(slots=True)
class Campaign:
    """Asks for votes, or beforehand (KIP-996) whether it would get them."""

    deadline: float
    is_pre_vote: bool
    votes: dict[int, bool]

    @property
    def role(self) -> Role:
        return Role.PROSPECTIVE if self.is_pre_vote else Role.CANDIDATE

    @property
    def granted_by(self) -> tuple[int, ...]:
        return tuple(sorted(voter for voter, granted in self.votes.items() if granted))

    @property
    def refusal_count(self) -> int:
        return sum(not granted for granted in self.votes.values())


@dataclass(slots=True)
class Progress:
    """What a leader knows of one replica, from its fetches in this epoch."""

    end_offset: int = -1
    """Unknown until a fetch agreed with the leader's log."""

    heard_at: float = -inf
    fetched_at: float = -inf
    """Of the fetches, also of those of snapshots, only the ones that agreed."""

    leader_end_then: int = -1
    caught_up_at: float = -inf


@dataclass(slots=True)
class Leader:
    epoch_start_offset: int
    began_at: float
    announce_at: float
    replicas: dict[int, Progress] = field(default_factory=dict)
    """The other voters, and the observers that came by."""

    role = Role.LEADER


@dataclass(slots=True)
class Resigned:
    """Led this epoch and never will again: what it wrote last may be lost with its memory."""

    deadline: float
    role = Role.RESIGNED


Standing = Unattached | Follower | Campaign | Leader | Resigned
