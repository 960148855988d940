"""One member of a consumer group: what it asked for, and what it may own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from broker.groups.consumer.partitions import NOTHING_HELD, Held

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
"""A static member that left for a while. Its partitions wait for it until its session ends."""


class MemberState(IntEnum):
    """How far a member has come on its way to the target assignment. The numbers are stored."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It still has to confirm that it gave up partitions."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others have not given up yet."""
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> MemberState:
        """A number of a newer Kafka is UNKNOWN: such a member has to join again."""
        return cls(number) if number in tuple(cls) else cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class ClassicProtocolOffer:
    """One entry of a JoinGroup request: an assignor's name, and the subscription for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class ClassicSession:
    """What a member that speaks the classic protocol brought with its JoinGroup request."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocolOffer, ...]


def _nothing() -> Held:
    return NOTHING_HELD


@dataclass(frozen=True, slots=True)
class Member:
    """A value: each change makes a new one. The first half is stored in one record (key 5), the
    second half in another (key 8)."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    topic_regex: str | None = ""
    """The empty string and None both mean: no regular expression."""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicSession | None = None

    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    """The epoch before the last step: a member that missed the reply still sends it."""
    state: MemberState = MemberState.STABLE
    assigned: Held = field(default_factory=_nothing)
    """What the member may own."""
    revoking: Held = field(default_factory=_nothing)
    """What the member has to give up, and may still own until it confirms that."""

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch
