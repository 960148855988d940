"""Changes of a cluster's metadata, and what an image makes of them."""

from __future__ import annotations

from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import (
    BrokerRegistered,
    Change,
    ConfigChanged,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
)
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo


def topic(name: str, partitions: int = 1, **configs: str) -> TopicCreated:
    """Its id is made from its name."""
    infos = tuple(PartitionInfo.in_sync([1]) for _ in range(partitions))
    return TopicCreated(name, name.encode().ljust(16, b"."), infos, configs)


def some_of_everything() -> list[Change]:
    return [
        BrokerRegistered(1, b"i" * 16, 0, (Endpoint("PLAINTEXT", "host", 9092),), rack="r1"),
        topic("a", partitions=3),
        topic("b"),
        ConfigChanged(ResourceType.TOPIC, "b", "retention.ms", "77"),
        ConfigChanged(ResourceType.BROKER, "1", "log.retention.ms", "5"),
        ProducerIdsAllocated(2000),
    ]


def image_of(*changes: Change) -> Image:
    image = Image()
    for change in changes:
        image.apply(change)
    return image


def content_of(image: Image) -> list[Change]:
    """Two images are equal when these are."""
    return list(image.as_changes())
