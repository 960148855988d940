"""The assignor `uniform`: members hold equally many partitions, and as few as possible move.

If all members are subscribed to the same topics, each gets the same number of partitions, give or
take one. The work is linear in partitions and members. Otherwise `uneven.assign` balances.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.groups.consumer.assignors import uneven
from broker.groups.consumer.assignors.spec import Assignment, GroupSpec
from broker.groups.consumer.partitions import Partitions


def assign_uniformly(spec: GroupSpec) -> Assignment:
    subscriptions = {member.topics for member in spec.members.values()}
    if len(subscriptions) > 1:
        return uneven.assign(spec)
    return _Even(spec, *subscriptions).assign() if subscriptions else {}


class _Even:
    """One assignment of the partitions of `topics` to members that are all subscribed to them."""

    def __init__(self, spec: GroupSpec, topics: frozenset[bytes]) -> None:
        self._spec = spec
        self._counts = {topic_id: spec.partition_counts[topic_id] for topic_id in sorted(topics)}
        total = sum(self._counts.values())
        self._quota, self._extra = divmod(total, len(spec.members))
        self._taken: dict[bytes, set[int]] = {topic_id: set() for topic_id in self._counts}

    def assign(self) -> Assignment:
        kept = {member_id: self._keep(member_id) for member_id in sorted(self._spec.members)}
        sizes = {member_id: size_of(target) for member_id, target in kept.items()}
        free = self._free()
        assignment: Assignment = {}
        for member_id, target in kept.items():
            missing = self._quota - sizes[member_id]
            if missing >= 0 and self._extra > 0:
                # Whoever did not keep an extra partition may get one of those that are left.
                missing += 1
                self._extra -= 1
            if missing > 0:
                target = with_more(target, free, missing)
            assignment[member_id] = target
        return assignment

    def _keep(self, member_id: str) -> Partitions:
        """The part of the last target that the member keeps: at most its share."""
        current = self._spec.members[member_id].current
        valid = {
            topic_id: [
                number
                for number in sorted(numbers)
                if number < self._counts[topic_id] and number not in self._taken[topic_id]
            ]
            for topic_id, numbers in sorted(current.items())
            if topic_id in self._counts
        }
        size = sum(map(len, valid.values()))
        share = self._quota
        if size > share and self._extra > 0:
            share += 1
            self._extra -= 1
        for numbers in reversed(valid.values()):
            surplus = min(len(numbers), max(0, size - share))
            del numbers[len(numbers) - surplus :]
            size -= surplus
        for topic_id, numbers in valid.items():
            self._taken[topic_id].update(numbers)
        kept = {topic_id: frozenset(numbers) for topic_id, numbers in valid.items() if numbers}
        return current if kept == current else kept

    def _free(self) -> Iterator[tuple[bytes, int]]:
        for topic_id, count in self._counts.items():
            taken = self._taken[topic_id]
            for number in range(count):
                if number not in taken:
                    yield topic_id, number


def with_more(target: Partitions, free: Iterator[tuple[bytes, int]], count: int) -> Partitions:
    """Adds the next `count` free partitions to a target."""
    added: dict[bytes, list[int]] = {}
    for _ in range(count):
        topic_id, number = next(free)
        added.setdefault(topic_id, []).append(number)
    grown = dict(target)
    for topic_id, numbers in added.items():
        grown[topic_id] = grown.get(topic_id, frozenset()).union(numbers)
    return grown


def size_of(partitions: Partitions) -> int:
    return sum(map(len, partitions.values()))
