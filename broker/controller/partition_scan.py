"""Looks through the partitions of an image, and finds one of them."""

from __future__ import annotations

from collections.abc import Callable

from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image, TopicInfo
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError


def change_partitions(
    image: Image, decide: Callable[[str, PartitionInfo], PartitionInfo | None]
) -> list[PartitionsChanged]:
    """`decide` is given the topic's name, and says the next state or None."""
    changes = []
    for topic in image.topics_sorted():
        changed = tuple(
            (index, after)
            for index, info in enumerate(topic.partitions)
            if (after := decide(topic.name, info)) is not None
        )
        if changed:
            changes.append(PartitionsChanged(topic.name, topic.topic_id, changed))
    return changes


def find_partition(image: Image, name: str, index: int) -> tuple[TopicInfo, PartitionInfo]:
    topic = image.topic(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}-{index}"
        )
    return topic, topic.partitions[index]


def leads_anything(image: Image, broker_id: int) -> bool:
    return any(
        info.leader == broker_id for topic in image.topics.values() for info in topic.partitions
    )
