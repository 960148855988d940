"""What every group is, whichever protocol its members speak."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.seen import SeenGroup
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode


class GroupKind(Enum):
    """The values are Kafka's words in ListGroups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class GroupClient:
    """Who sends a request, as groups describe their members."""

    client_id: str
    client_host: str
    """As Kafka writes it: `/` and the address."""


class Group(Protocol):
    """One group with a state of its own. A group that only has offsets is none: `machine.py`."""

    group_id: str
    kind: GroupKind
    protocol_type: str | None
    """`consumer`, `connect`, ...: what its members do together."""

    @property
    def state_name(self) -> str:
        """Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead for a classic
        group; Empty, Assigning, Reconciling, Stable, Dead for one of the consumer protocol."""
        ...

    def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> ErrorCode:
        """Whether this member may commit offsets now. `version` is that of the request."""
        ...

    def check_commit_to(
        self, member_id: str, generation_or_epoch: int, topic: str, partition: int
    ) -> ErrorCode:
        """Whether this member may commit this partition, after `check_commit` has said yes."""
        ...

    def commit_seen(self, member_id: str, now: Now) -> None:
        """A commit of a member was accepted: for a classic group it is as good as a heartbeat."""
        ...

    def check_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Whether this member may read the committed offsets."""
        ...

    def check_delete(self) -> ErrorCode:
        """Whether the whole group may be deleted: NON_EMPTY_GROUP while it has members."""
        ...

    def check_offset_delete(self) -> ErrorCode:
        """Whether single offsets may be deleted. NON_EMPTY_GROUP while the group has members whose
        subscriptions are not known, because they are no consumers."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads this topic. Unknown subscriptions count as subscribed."""
        ...

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        """When the retention of an offset that was committed then begins (KIP-211); None while
        the group has members that may be subscribed to its topic."""
        ...

    def described(self) -> m.DescribeGroupsResponseDescribedGroup | None:
        """For DescribeGroups, which knows classic groups only: None for others."""
        ...

    def seen(self) -> SeenGroup:
        """The group as plain values."""
        ...

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete the group, without its offsets."""
        ...
