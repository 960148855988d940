"""Images of small clusters, for tests of what the controller decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from broker.controller.liveness import BrokerLiveness
from broker.controller.topic_rules import RulesOf, TopicRules
from broker.metadata.broker_info import BrokerInfo, Endpoint
from broker.metadata.changes import BrokerRegistered, Change, TopicCreated
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo

TOPIC_ID = b"t" * 16
SESSION_S = 9.0


def broker(broker_id: int, **more: Any) -> BrokerInfo:
    return BrokerInfo(
        **{
            "broker_id": broker_id,
            "incarnation_id": bytes([broker_id]) * 16,
            "broker_epoch": broker_id,
            "endpoints": (Endpoint("PLAINTEXT", f"n{broker_id}", 9092),),
            "fenced": False,
            **more,
        }
    )


def cluster(brokers: Iterable[int | BrokerInfo], *partitions: PartitionInfo) -> Image:
    """With one topic, `t`, if it has partitions."""
    image = Image()
    for each in brokers:
        known = each if isinstance(each, BrokerInfo) else broker(each)
        image.apply(
            BrokerRegistered(
                known.broker_id,
                known.incarnation_id,
                max(known.broker_epoch, image.next_broker_epoch),
                known.endpoints,
                known.rack,
                known.log_dirs,
                known.fenced,
                known.in_controlled_shutdown,
            )
        )
    if partitions:
        image.apply(TopicCreated("t", TOPIC_ID, partitions, {}))
    return image


def partition(
    replicas: Sequence[int], isr: Sequence[int] | None = None, **more: Any
) -> PartitionInfo:
    """Led by the first in the ISR, if nothing else is said."""
    in_sync = tuple(replicas if isr is None else isr)
    return PartitionInfo(
        **{
            "replicas": tuple(replicas),
            "isr": in_sync,
            "leader": in_sync[0] if in_sync else -1,
            "leader_epoch": 5,
            "partition_epoch": 8,
            **more,
        }
    )


def rules(**given: Any) -> RulesOf:
    """For every topic the same ones."""
    said = TopicRules(**given)
    return lambda topic: said


def after(image: Image, changes: Iterable[Change]) -> Image:
    changed = image.copy()
    for change in changes:
        changed.apply(change)
    return changed


def only(image: Image) -> PartitionInfo:
    """The one partition of the one topic."""
    (topic,) = image.topics.values()
    (info,) = topic.partitions
    return info


def sessions(image: Image, now: float = 0.0, metadata_end: int = 10) -> BrokerLiveness:
    return BrokerLiveness(SESSION_S, image, now=now, metadata_end=metadata_end)
