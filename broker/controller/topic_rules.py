"""The part of a topic's configuration that the controller's decisions depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    min_isr: int = 1  # min.insync.replicas
    unclean: bool = False  # unclean.leader.election.enable

    def min_isr_of(self, replica_count: int) -> int:
        """A topic with fewer replicas than min.insync.replicas needs them all."""
        return min(self.min_isr, replica_count)


RulesOf = Callable[[str], TopicRules]
"""By the topic's name."""
