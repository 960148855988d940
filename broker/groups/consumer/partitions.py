"""Sets of partitions, by topic id. Values of these types are never changed after they are built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Partitions: TypeAlias = Mapping[bytes, frozenset[int]]
"""Topic id to partition numbers. A topic without partitions does not appear."""

Held: TypeAlias = Mapping[bytes, Mapping[int, int]]
"""Topic id to partition number to the epoch at which the member received that partition."""

NO_PARTITIONS: Partitions = {}
NOTHING_HELD: Held = {}


def without_epochs(held: Held) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in held.items()}


def with_epoch(partitions: Partitions, epoch: int) -> dict[bytes, dict[int, int]]:
    return {
        topic_id: dict.fromkeys(sorted(numbers), epoch) for topic_id, numbers in partitions.items()
    }


def from_pairs(pairs: Iterable[tuple[bytes, Iterable[int]]]) -> dict[bytes, frozenset[int]]:
    """Builds a set of partitions. A topic that is listed twice counts with all its partitions."""
    found: dict[bytes, frozenset[int]] = {}
    for topic_id, numbers in pairs:
        found[topic_id] = found.get(topic_id, frozenset()).union(numbers)
    return {topic_id: numbers for topic_id, numbers in found.items() if numbers}


def is_within(partitions: Partitions, held: Held) -> bool:
    """Whether every one of `partitions` is held."""
    return all(numbers <= held.get(topic, {}).keys() for topic, numbers in partitions.items())


def overlap(partitions: Partitions, held: Held) -> bool:
    """Whether at least one of `partitions` is held."""
    return any(
        not numbers.isdisjoint(held.get(topic_id, {})) for topic_id, numbers in partitions.items()
    )


def in_order(partitions: Partitions) -> list[tuple[bytes, list[int]]]:
    """The partitions sorted, so that what is written and sent does not depend on hashing."""
    return [(topic_id, sorted(partitions[topic_id])) for topic_id in sorted(partitions)]
