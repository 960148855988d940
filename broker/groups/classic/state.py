"""The states of a classic group.

    Empty ---- first join ---> PreparingRebalance
    PreparingRebalance ------> CompletingRebalance   all members have joined, or the time is up
    PreparingRebalance ------> Empty                 no member is left
    CompletingRebalance -----> Stable                the leader has sent the assignments
    CompletingRebalance,
    Stable ------------------> PreparingRebalance    a member joins, leaves, fails, or has changed

Only Empty and Stable are stored. A group that is loaded is in one of them.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """The values are Kafka's words, as DescribeGroups and ListGroups say them."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
