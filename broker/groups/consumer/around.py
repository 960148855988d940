"""What all consumer groups of one partition share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer.member import Member
from broker.groups.consumer.metadata_hash import MetadataHashes
from broker.groups.settings import GroupSettings
from broker.groups.topics_view import TopicsView

if TYPE_CHECKING:
    from broker.groups.consumer.group import ConsumerGroup

SESSION = "consumer-session"
REBALANCE = "consumer-rebalance"
JOIN = "consumer-join"
SYNC = "consumer-sync"
REGEX = "consumer-regex"
KINDS = (SESSION, REBALANCE, JOIN, SYNC, REGEX)
"""What the deadlines of consumer groups are for: the first part of their keys."""


class Downgrade(Protocol):
    """Turns a group into a classic one when only members of the classic protocol are left."""

    def __call__(
        self, group: ConsumerGroup, leaving: Sequence[Member], now: Now
    ) -> list[CoordinatorRecord] | None:
        """The records of the conversion; None if the group stays what it is."""
        ...


def no_downgrade(
    group: ConsumerGroup, leaving: Sequence[Member], now: Now
) -> list[CoordinatorRecord] | None:
    return None


@dataclass(slots=True)
class Around:
    settings: GroupSettings
    topics: TopicsView
    deadlines: Deadlines[tuple[str, ...]]
    hashes: MetadataHashes
    downgrade: Downgrade = field(default=no_downgrade)
