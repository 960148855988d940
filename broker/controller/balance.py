"""Automatic preferred leadership: who came back late leads again what is its own."""

from __future__ import annotations

from collections import Counter

from broker.controller.partition_change import Election, next_state
from broker.controller.partition_scan import change_partitions
from broker.controller.topic_rules import RulesOf
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo

ELECTIONS_MAX = 1000
"""In one go: each one makes clients look for the new leader."""


def balance_leaders(
    image: Image, imbalance_percentage: int, rules_of: RulesOf
) -> list[PartitionsChanged]:
    """For brokers that lead too few of the partitions which they are the first replica of.

    `imbalance_percentage` is leader.imbalance.per.broker.percentage.
    """
    preferring: Counter[int] = Counter()
    led_by_others: Counter[int] = Counter()
    for topic in image.topics.values():
        for info in topic.partitions:
            preferring[info.replicas[0]] += 1
            led_by_others[info.replicas[0]] += info.leader != info.replicas[0]
    short = {
        broker_id
        for broker_id, count in led_by_others.items()
        if count * 100 > imbalance_percentage * preferring[broker_id]
    }
    left = ELECTIONS_MAX

    def concerns(info: PartitionInfo) -> bool:
        nonlocal left
        preferred = info.replicas[0]
        goes_home = (
            left > 0
            and preferred in short
            and preferred != info.leader
            and preferred in info.isr
            and image.is_active(preferred)
        )
        left -= goes_home
        return goes_home

    return change_partitions(
        image,
        rules_of,
        concerns,
        lambda info, rules: next_state(info, rules, image.is_active, election=Election.PREFERRED),
    )
