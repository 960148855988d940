"""The plain records that change the cluster's metadata, and their form on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, get_args

from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH, Endpoint
from broker.metadata.partition_info import PartitionInfo
from broker.metadata.plain_form import form_of


class ResourceType(IntEnum):
    """Kafka's numbers for what can be configured."""

    TOPIC = 2
    BROKER = 4


@dataclass(frozen=True, slots=True)
class TopicCreated:
    name: str
    topic_id: bytes
    partitions: tuple[PartitionInfo, ...]
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
    partitions: tuple[PartitionInfo, ...]  # the new ones only


@dataclass(frozen=True, slots=True)
class PartitionsChanged:
    """Whole new states, so that a record says all by itself what the partition is after it."""

    name: str
    topic_id: bytes
    partitions: tuple[tuple[int, PartitionInfo], ...]  # by index, only those that change


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    """A new incarnation comes with an epoch that was never used; a known one may say more."""

    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    log_dirs: tuple[bytes, ...] = ()
    fenced: bool = True
    in_controlled_shutdown: bool = False
    offline_dirs: tuple[bytes, ...] = ()
    unharmed_since: int = UNKNOWN_BROKER_EPOCH


@dataclass(frozen=True, slots=True)
class BrokerChanged:
    broker_id: int
    broker_epoch: int
    fenced: bool
    in_controlled_shutdown: bool = False


@dataclass(frozen=True, slots=True)
class BrokerDirectoriesChanged:
    broker_id: int
    broker_epoch: int
    offline_dirs: tuple[bytes, ...]  # all of them, sorted


@dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class BrokerEpochsUsed:
    """All broker epochs below are used, also those of brokers that are no longer registered."""

    next_broker_epoch: int


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


Change = (
    TopicCreated
    | TopicDeleted
    | DeletionsRemembered
    | PartitionsAdded
    | PartitionsChanged
    | BrokerRegistered
    | BrokerChanged
    | BrokerDirectoriesChanged
    | BrokerUnregistered
    | BrokerEpochsUsed
    | ConfigChanged
    | ProducerIdsAllocated
)

_FORMS = {each.__name__: form_of(each) for each in get_args(Change)}


def to_json(change: Change) -> dict[str, Any]:
    name = type(change).__name__
    return {"change": name, **_FORMS[name].to_plain(change)}


def from_json(plain: Mapping[str, Any]) -> Change:
    """Raises KeyError, TypeError or ValueError for what `to_json` never wrote."""
    members = dict(plain)
    change: Change = _FORMS[members.pop("change")].from_plain(members)
    return change
