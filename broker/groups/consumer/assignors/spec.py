"""What a server-side assignor is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from broker.groups.consumer.partitions import Partitions


@dataclass(frozen=True, slots=True)
class SubscribedMember:
    member_id: str
    instance_id: str | None
    topics: frozenset[bytes]
    """Ids of the topics that it is subscribed to. Topics that do not exist are not listed."""
    current: Partitions
    """Its part of the last target assignment."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    members: Mapping[str, SubscribedMember]
    partition_counts: Mapping[bytes, int]
    """Number of partitions of every topic that a member is subscribed to."""


Assignment: TypeAlias = dict[str, Partitions]
"""The new target of every member. A target that did not change is the same object as before."""

Assignor: TypeAlias = Callable[[GroupSpec], Assignment]
