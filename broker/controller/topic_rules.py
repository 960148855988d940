"""The part of a topic's configuration that the controller's decisions depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    min_isr: int = 1  # min.insync.replicas
    unclean: bool = False  # unclean.leader.election.enable
    last_leader_returns: bool = False
    """Whether the last leader may lead again when every replica that was known to have all
    records stopped uncleanly. It may have lost its tail, but leads better than nobody. Kafka 4
    always allows it; here it needs this, or a topic for which one copy was enough anyway."""

    def min_isr_of(self, replica_count: int) -> int:
        """A topic with fewer replicas than min.insync.replicas needs them all."""
        return min(self.min_isr, replica_count)


RulesOf = Callable[[str], TopicRules]
"""By the topic's name."""
