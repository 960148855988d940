"""What all classic groups of one coordinator share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import Ticket
from broker.groups.settings import GroupSettings

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a JoinGroup of a new member waits at most. It is no setting in Kafka either."""


@dataclass(slots=True)
class ClassicContext:
    settings: GroupSettings
    deadlines: Deadlines[tuple[str, ...]]
    new_uuid: Callable[[], str]
    """Makes member ids unique. The rules draw no randomness of their own."""
    waiting: dict[Ticket, None] = field(default_factory=dict)
    """Requests that wait for other members, of all groups, in the order of their arrival."""
