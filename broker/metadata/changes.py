"""The plain records that change the cluster's metadata, and their form on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import IntEnum
from typing import Any


class ResourceType(IntEnum):
    """Kafka's numbers for what can be configured."""

    TOPIC = 2
    BROKER = 4


@dataclass(frozen=True, slots=True)
class TopicCreated:
    name: str
    topic_id: bytes
    replicas: tuple[tuple[int, ...], ...]  # by partition; the first replica leads
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    name: str
    topic_id: bytes


@dataclass(frozen=True, slots=True)
class DeletionsRemembered:
    """So that a start can tell a deleted topic's log from one that nobody knows."""

    topic_ids: tuple[bytes, ...]  # oldest first


@dataclass(frozen=True, slots=True)
class PartitionsAdded:
    name: str
    topic_id: bytes
    first: int  # how many partitions there are before
    replicas: tuple[tuple[int, ...], ...]  # of the new partitions only


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """Sets one configuration of one resource; None takes it away."""

    resource_type: int
    resource_name: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """All producer ids below `next_producer_id` may be in use."""

    next_producer_id: int


@dataclass(frozen=True, slots=True)
class LeaderEpochsRaised:
    """A node raises the epochs of the partitions it leads when it starts."""

    name: str
    topic_id: bytes
    leader_epochs: tuple[int, ...]  # by partition


Change = (
    TopicCreated
    | TopicDeleted
    | DeletionsRemembered
    | PartitionsAdded
    | ConfigChanged
    | ProducerIdsAllocated
    | LeaderEpochsRaised
)

_CLASSES: dict[str, type[Change]] = {
    each.__name__: each
    for each in (
        TopicCreated,
        TopicDeleted,
        DeletionsRemembered,
        PartitionsAdded,
        ConfigChanged,
        ProducerIdsAllocated,
        LeaderEpochsRaised,
    )
}


def to_json(change: Change) -> dict[str, Any]:
    plain = asdict(change)
    if "topic_id" in plain:
        plain["topic_id"] = plain["topic_id"].hex()
    if "topic_ids" in plain:
        plain["topic_ids"] = [topic_id.hex() for topic_id in plain["topic_ids"]]
    return {"change": type(change).__name__, **plain}


def from_json(plain: Mapping[str, Any]) -> Change:
    """Raises KeyError, TypeError or ValueError for what `to_json` never wrote."""
    kind = _CLASSES[plain["change"]]
    values = {each.name: plain[each.name] for each in fields(kind)}
    if "topic_id" in values:
        values["topic_id"] = bytes.fromhex(values["topic_id"])
    if "topic_ids" in values:
        values["topic_ids"] = tuple(bytes.fromhex(text) for text in values["topic_ids"])
    if "replicas" in values:
        values["replicas"] = tuple(tuple(nodes) for nodes in values["replicas"])
    if "leader_epochs" in values:
        values["leader_epochs"] = tuple(values["leader_epochs"])
    return kind(**values)
