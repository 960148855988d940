"""What consumers of the classic protocol put into the bytes that a coordinator only carries.

A coordinator reads and writes them itself where members of both protocols share a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from broker.groups.consumer.partitions import Partitions, from_pairs, in_order
from broker.groups.topics_view import TopicsView
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.errors import MalformedMessageError

CONSUMER_PROTOCOL_TYPE = "consumer"

_VERSION = Struct(">h")
_LAST_VERSION = 3


def version_of(data: bytes) -> int:
    """Raises MalformedMessageError."""
    if len(data) < _VERSION.size:
        raise MalformedMessageError(f"{len(data)} bytes cannot hold a version")
    version = int(_VERSION.unpack_from(data)[0])
    if version < 0:
        raise MalformedMessageError(f"there is no version {version}")
    return version


def read_subscription(data: bytes) -> m.ConsumerProtocolSubscription:
    """Raises MalformedMessageError. Newer versions begin as the last known one does."""
    version = min(version_of(data), _LAST_VERSION)
    decode = codec.decoder("ConsumerProtocolSubscription", version)
    subscription: m.ConsumerProtocolSubscription = decode(memoryview(data), _VERSION.size)[0]
    return subscription


def read_assignment(data: bytes) -> m.ConsumerProtocolAssignment:
    """Raises MalformedMessageError. A member that was never assigned anything has no bytes."""
    if not data:
        return m.ConsumerProtocolAssignment()
    version = min(version_of(data), _LAST_VERSION)
    decode = codec.decoder("ConsumerProtocolAssignment", version)
    assignment: m.ConsumerProtocolAssignment = decode(memoryview(data), _VERSION.size)[0]
    return assignment


def write_assignment(partitions: Partitions, topics: TopicsView, version: int) -> bytes:
    """Topics that were deleted meanwhile are left out."""
    assignment = m.ConsumerProtocolAssignment(
        assigned_partitions=[
            m.ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=numbers)
            for topic_id, numbers in in_order(partitions)
            if (name := topics.topic_name(topic_id)) is not None
        ]
    )
    version = min(version, _LAST_VERSION)
    encoded = codec.encoder("ConsumerProtocolAssignment", version)(assignment)
    return _VERSION.pack(version) + b"".join(encoded)


def by_topic_id(partitions: Mapping[str, list[int]], topics: TopicsView) -> Partitions:
    """Topics that do not exist are left out."""
    known = ((topics.topic_id(name), numbers) for name, numbers in partitions.items())
    return from_pairs((topic_id, numbers) for topic_id, numbers in known if topic_id is not None)
