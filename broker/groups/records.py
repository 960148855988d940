"""Keys and values of `__consumer_offsets` as bytes, and back: byte for byte what Kafka writes.

A key begins with two bytes that say which kind of record it is, a value with two bytes that say
the version of its format.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Any

from broker.coordination.step import CoordinatorRecord
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.errors import MalformedMessageError

OFFSET_COMMIT = 1
GROUP_METADATA = 2
CONSUMER_GROUP_METADATA = 3
CONSUMER_GROUP_PARTITION_METADATA = 4
CONSUMER_GROUP_MEMBER_METADATA = 5
CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
CONSUMER_GROUP_REGULAR_EXPRESSION = 16

_NAMES = {
    0: "OffsetCommit",  # before Kafka 0.9, with the same fields
    OFFSET_COMMIT: "OffsetCommit",
    GROUP_METADATA: "GroupMetadata",
    CONSUMER_GROUP_METADATA: "ConsumerGroupMetadata",
    CONSUMER_GROUP_PARTITION_METADATA: "ConsumerGroupPartitionMetadata",
    CONSUMER_GROUP_MEMBER_METADATA: "ConsumerGroupMemberMetadata",
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: "ConsumerGroupTargetAssignmentMetadata",
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: "ConsumerGroupTargetAssignmentMember",
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: "ConsumerGroupCurrentMemberAssignment",
    CONSUMER_GROUP_REGULAR_EXPRESSION: "ConsumerGroupRegularExpression",
}

_KIND_BY_KEY = {f"{name}Key": kind for kind, name in _NAMES.items()}

OFFSET_VALUE_VERSION = 4
"""What Kafka 4.3 writes: it has the topic's id."""
_OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
_GROUP_VALUE_VERSION = 3
_CONSUMER_VALUE_VERSION = 0

_VERSION = Struct(">h")


class UnknownRecordError(MalformedMessageError):
    """A record of a kind, or of a version, that this broker does not know."""


def record(key: Any, value: Any, version: int | None = None) -> CoordinatorRecord:
    """A record with this key and value, both messages; without a value, a tombstone."""
    return CoordinatorRecord(
        encode_key(key), None if value is None else encode_value(value, version)
    )


def tombstone(key: Any) -> CoordinatorRecord:
    return CoordinatorRecord(encode_key(key), None)


def encode_key(key: Any) -> bytes:
    name = type(key).__name__
    kind = _KIND_BY_KEY[name]
    return _VERSION.pack(kind) + b"".join(codec.encoder(name, kind)(key))


def encode_value(value: Any, version: int | None = None) -> bytes:
    """In the version that Kafka writes, unless another one is given."""
    if version is None:
        version = _version_for(value)
    return _VERSION.pack(version) + b"".join(codec.encoder(type(value).__name__, version)(value))


def _version_for(value: Any) -> int:
    match value:
        case m.OffsetCommitValue():
            has_expiry = value.expire_timestamp >= 0
            return _OFFSET_VALUE_VERSION_WITH_EXPIRY if has_expiry else OFFSET_VALUE_VERSION
        case m.GroupMetadataValue():
            return _GROUP_VALUE_VERSION
        case _:
            return _CONSUMER_VALUE_VERSION


@lru_cache(maxsize=4096)
def decode_key(key: bytes) -> tuple[int, Any]:
    """The kind of the record and its key. Raises UnknownRecordError, MalformedMessageError.

    Keys come again and again, so callers share what this returns and must not change it.
    """
    kind = _version_of(key)
    name = _NAMES.get(kind)
    if name is None:
        raise UnknownRecordError(f"no record of __consumer_offsets has the kind {kind}")
    decoded, _ = codec.decoder(f"{name}Key", kind)(key, _VERSION.size)
    return OFFSET_COMMIT if kind == 0 else kind, decoded


def decode_value(kind: int, value: bytes) -> Any:
    """Raises UnknownRecordError, MalformedMessageError."""
    version = _version_of(value)
    name = f"{_NAMES[kind]}Value"
    if not 0 <= version <= _LAST_VERSIONS.get(kind, 0):
        raise UnknownRecordError(f"{name} has no version {version}")
    decoded, _ = codec.decoder(name, version)(value, _VERSION.size)
    return decoded


_LAST_VERSIONS = {OFFSET_COMMIT: 4, GROUP_METADATA: 4}


def _version_of(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise MalformedMessageError(f"{len(data)} bytes cannot hold a version")
    (version,) = _VERSION.unpack_from(data)
    return int(version)
