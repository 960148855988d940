"""Ownership as stretches of time in which it stays the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reports.ownership import Group, Life, Owned
from reports.partition_ranges import in_order


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one member owned, or what nobody owned, while it stayed the same."""

    begin_ns: int
    end_ns: int
    keys: tuple[str, ...]
    generations: tuple[int, ...] = ()
    ends: tuple[str, ...] = ()
    """How the ownership of some of these partitions ended with it."""


def owned_stretches(owned: Sequence[Owned]) -> list[Stretch]:
    found = []
    for begin_ns, end_ns, active in _steps(owned):
        held = [each for each in active if isinstance(each, Owned)]
        if held:
            generations = {each.generation for each in held if each.generation is not None}
            ends = {each.end for each in held if each.end_ns == end_ns}
            keys = in_order(each.key for each in held)
            found.append(
                Stretch(begin_ns, end_ns, keys, tuple(sorted(generations)), tuple(sorted(ends)))
            )
    return found


def unowned_stretches(group: Group) -> list[Stretch]:
    """Partitions that nobody owned while the group had members: what a rebalance costs.

    The partitions are those that the group ever assigned.
    """
    members = group.members.values()
    owned = [each for member in members for each in member.owned]
    lives = [life for member in members for life in member.lives]
    everything = {each.key for each in owned}
    found: list[Stretch] = []
    for begin_ns, end_ns, active in _steps([*lives, *owned]):
        if not any(isinstance(each, Life) for each in active):
            continue
        left = everything - {each.key for each in active if isinstance(each, Owned)}
        last = found[-1] if found else None
        if last is not None and last.end_ns == begin_ns and set(last.keys) == left:
            found[-1] = replace(last, end_ns=end_ns)
        elif left:
            found.append(Stretch(begin_ns, end_ns, in_order(left)))
    return found


def _steps(spans: Sequence[Owned | Life]) -> Iterator[tuple[int, int, list[Owned | Life]]]:
    """Between two changes: from when, until when, and which of the spans cover it."""
    real = [each for each in spans if each.begin_ns < each.end_ns]
    times = sorted({time for each in real for time in (each.begin_ns, each.end_ns)})
    by_begin = sorted(range(len(real)), key=lambda at: real[at].begin_ns)
    active: list[Owned | Life] = []
    taken = 0
    for begin_ns, end_ns in pairwise(times):
        active = [each for each in active if each.end_ns > begin_ns]
        while taken < len(by_begin) and real[by_begin[taken]].begin_ns == begin_ns:
            active.append(real[by_begin[taken]])
            taken += 1
        yield begin_ns, end_ns, active
