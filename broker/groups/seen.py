"""Groups as plain values, for those who check what must be true of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SeenMember:
    member_id: str
    instance_id: str | None
    epoch: int
    """The member's epoch; in a classic group the generation that it has joined."""
    partitions: tuple[tuple[str, int], ...] = ()
    """What it owns by now, sorted: topics by name, or by the hexadecimal id if that is all."""
    since: tuple[int, ...] = ()
    """For each of these partitions, the member epoch in which it was assigned."""
    target: tuple[tuple[str, int], ...] = ()
    """What the target assigns to it, sorted; empty in a classic group."""


@dataclass(frozen=True, slots=True)
class SeenGroup:
    group_id: str
    kind: str
    state: str
    epoch: int
    """The group's epoch, or its generation."""
    members: tuple[SeenMember, ...]
    """Sorted by id."""
    lasting: str
    """A text that two groups have in common exactly if their records have led to the same state.
    Nothing is in it that a change of coordinators loses; empty for a group without records."""
    holders: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """The member that the group's table of owners names for each partition. By this table the
    coordinator decides whether a partition is free; a classic group has none."""
