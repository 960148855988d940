"""Which partitions got more than their share of the records, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

HOT = 2.0
"""A partition with so many times the even share of its topic is hot."""
HOT_SHARE = 0.75
"""Or with such a share, where there are too few partitions for that."""


class HotPartition(NamedTuple):
    key: str
    topic: str
    share: float
    """Of the records of its topic."""
    even: float
    """What each partition of the topic would have got."""


def hot_partitions(counts: Mapping[str, int]) -> list[HotPartition]:
    """`counts`: acknowledged records by key, `topic-partition`. The hottest first."""
    topics: dict[str, dict[str, int]] = {}
    for key, count in counts.items():
        topics.setdefault(key.rpartition("-")[0], {})[key] = count
    found = []
    for topic, own in topics.items():
        even = 1 / len(own)
        whole = sum(own.values())
        for key, count in own.items():
            share = count / whole if whole else 0.0
            if len(own) > 1 and share > min(HOT * even, HOT_SHARE):
                found.append(HotPartition(key, topic, share, even))
    return sorted(found, key=lambda each: (-each.share, each.key))


def skew_sentence(counts: Mapping[str, int]) -> str | None:
    """`keyed-2 got 61 % of the records of keyed, where 12 % would be even`"""
    hot = hot_partitions(counts)
    if not hot:
        return None
    return "; ".join(
        f"{each.key} got {each.share:.0%} of the records of {each.topic}, where {each.even:.0%} "
        "would be even"
        for each in hot
    ).replace("%", " %")
