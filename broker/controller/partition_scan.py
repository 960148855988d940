"""Looks through the partitions of an image, and finds one of them."""

from __future__ import annotations

from collections.abc import Callable

from broker.controller.topic_rules import RulesOf, TopicRules
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image, TopicInfo
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError


def change_partitions(
    image: Image,
    rules_of: RulesOf,
    concerns: Callable[[PartitionInfo], bool],
    decide: Callable[[PartitionInfo, TopicRules], PartitionInfo | None],
) -> list[PartitionsChanged]:
    """`concerns` picks partitions, `decide` says their next state; rules are asked for once."""
    changes = []
    for topic in image.topics_sorted():
        picked = [each for each in enumerate(topic.partitions) if concerns(each[1])]
        if not picked:
            continue
        rules = rules_of(topic.name)
        changed = tuple(
            (index, after) for index, info in picked if (after := decide(info, rules)) is not None
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
