"""Which topics a consumer subscribes to, out of the bytes that it joins with.

The broker carries these bytes from the members to their leader and needs nothing of them but the
topics: offsets of a subscribed topic neither expire nor can be deleted. All versions of the
consumer protocol begin as version 0 does, so nothing after the topics is looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from struct import Struct

CONSUMER_PROTOCOL_TYPE = "consumer"

_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all these subscriptions; None if one of them cannot be read."""
    topics: set[str] = set()
    try:
        for subscription in dict.fromkeys(subscriptions):  # members often send the same bytes
            topics.update(_topics(subscription))
    except (struct.error, ValueError):
        return None
    return frozenset(topics)


def _topics(subscription: bytes) -> list[str]:
    version, count = _VERSION_AND_COUNT.unpack_from(subscription)
    if version < 0 or count < 0:
        raise ValueError
    at = _VERSION_AND_COUNT.size
    topics: list[str] = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(subscription, at)
        at += _LENGTH.size
        if length < 0 or at + length > len(subscription):
            raise ValueError
        topics.append(subscription[at : at + length].decode())
        at += length
    return topics
