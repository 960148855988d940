"""Topics that coordinators keep their state in: how they are made, and what belongs where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopic:
    """How a topic is made when it is first needed."""

    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)


def partition_for(key: str, partition_count: int) -> int:
    """The partition that a group or a transactional id belongs to: the same as in Kafka."""
    return abs(java_hash(key)) % partition_count


@lru_cache(maxsize=4096)  # a group's requests come again and again
def java_hash(text: str) -> int:
    """`String.hashCode` of Java, but 0 for the smallest integer, whose absolute value is none.

    Java counts UTF-16 code units: a character beyond the first 65,536 is two of them.
    """
    data = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(data), 2):
        value = (31 * value + (data[at] << 8 | data[at + 1])) & 0xFFFFFFFF
    if value == 0x80000000:
        return 0
    return value - (1 << 32) if value > 0x7FFFFFFF else value
