"""Which topics a consumer subscribes to, and what is assigned to it, out of their bytes.

The broker carries these bytes between members and their leader and needs nothing of them but the
topics: offsets of a subscribed topic neither expire nor can be deleted. Assignments are read where
a group is checked. All versions of the consumer protocol begin as version 0 does, so nothing behind
that is looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from struct import Struct

CONSUMER_PROTOCOL_TYPE = "consumer"

_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")
_COUNT = Struct(">i")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all these subscriptions; None if one of them cannot be read."""
    topics: set[str] = set()
    try:
        for subscription in dict.fromkeys(subscriptions):  # members often send the same bytes
            topics.update(_topics(subscription))
    except (struct.error, ValueError):
        return None
    return frozenset(topics)


def assigned_partitions(assignment: bytes) -> tuple[tuple[str, int], ...]:
    """Topics with their partitions, sorted; none if the bytes are something else."""
    try:
        return tuple(sorted(_assigned(assignment)))
    except (struct.error, ValueError):
        return ()


def _topics(subscription: bytes) -> list[str]:
    count, at = _begin(subscription)
    topics: list[str] = []
    for _ in range(count):
        topic, at = _text(subscription, at)
        topics.append(topic)
    return topics


def _assigned(assignment: bytes) -> list[tuple[str, int]]:
    topic_count, at = _begin(assignment)
    found: list[tuple[str, int]] = []
    for _ in range(topic_count):
        topic, at = _text(assignment, at)
        (count,) = _COUNT.unpack_from(assignment, at)
        at += _COUNT.size
        if count < 0 or at + count * _COUNT.size > len(assignment):
            raise ValueError
        for _ in range(count):
            found.append((topic, *_COUNT.unpack_from(assignment, at)))
            at += _COUNT.size
    return found


def _begin(data: bytes) -> tuple[int, int]:
    """How many topics follow, and where."""
    version, count = _VERSION_AND_COUNT.unpack_from(data)
    if version < 0 or count < 0:
        raise ValueError
    return count, _VERSION_AND_COUNT.size


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if length < 0 or at + length > len(data):
        raise ValueError
    return data[at : at + length].decode(), at + length
