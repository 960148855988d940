"""What becomes of the partitions when a broker comes, goes, or is about to go.

Whoever stops counting leaves the ISRs before the record that says so, and whoever counts again
leads only after it: at no point of the log is a fenced broker in an ISR.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from broker.controller.partition_change import next_state
from broker.controller.partition_scan import change_partitions
from broker.controller.topic_rules import RulesOf, TopicRules
from broker.metadata.broker_info import BrokerInfo
from broker.metadata.changes import (
    BrokerChanged,
    BrokerDirectoriesChanged,
    BrokerUnregistered,
    Change,
    PartitionsChanged,
)
from broker.metadata.image import Image
from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError


def current_broker(image: Image, broker_id: int, broker_epoch: int) -> BrokerInfo:
    """The broker that asks, unless a later incarnation has taken its place."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is not registered any more"
        )
    if broker.broker_epoch != broker_epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"broker {broker_id} has epoch {broker.broker_epoch}, not {broker_epoch}",
        )
    return broker


def fence_brokers(image: Image, broker_ids: Collection[int], rules_of: RulesOf) -> list[Change]:
    """All at once, so that none of them is made leader in place of another."""
    changed = [
        BrokerChanged(broker_id, broker.broker_epoch, True, broker.in_controlled_shutdown)
        for broker_id in sorted(broker_ids)
        if not (broker := image.brokers[broker_id]).fenced
    ]
    return [*partitions_without(image, broker_ids, rules_of), *changed]


def unfence_broker(image: Image, broker_id: int, rules_of: RulesOf) -> list[Change]:
    broker = image.brokers[broker_id]
    unfenced = BrokerChanged(broker_id, broker.broker_epoch, fenced=False)

    def is_active(each: int, directory: bytes | None = None) -> bool:
        if each == broker_id:
            return broker.has_online(directory)
        return image.is_active(each, directory)

    led = change_partitions(
        image,
        rules_of,
        lambda info: info.leader == NO_LEADER and broker_id in info.replicas,
        lambda info, rules: next_state(info, rules, is_active),
    )
    return [unfenced, *led]


def change_offline_directories(
    image: Image, broker_id: int, offline: tuple[bytes, ...], rules_of: RulesOf
) -> list[Change]:
    """Which directories have failed by now: what lies in others goes on as before (KIP-858).

    A replica in one that failed is as good as on a fenced broker. When its directory is back, it
    may lead again where it is eligible and nobody else does.
    """
    broker = replace(image.brokers[broker_id], offline_dirs=offline)

    def is_active(each: int, directory: bytes | None = None) -> bool:
        if each == broker_id:
            return broker.is_active and broker.has_online(directory)
        return image.is_active(each, directory)

    def is_lost(info: PartitionInfo) -> bool:
        return broker_id in info.isr and not broker.has_online(info.directory_of(broker_id))

    def may_be_led(info: PartitionInfo) -> bool:
        return info.leader == NO_LEADER and broker_id in info.replicas

    def decide(info: PartitionInfo, rules: TopicRules) -> PartitionInfo | None:
        return next_state(info, rules, is_active)

    return [
        *change_partitions(image, rules_of, is_lost, decide),
        BrokerDirectoriesChanged(broker_id, broker.broker_epoch, offline),
        *change_partitions(image, rules_of, may_be_led, decide),
    ]


def begin_controlled_shutdown(image: Image, broker_id: int, rules_of: RulesOf) -> list[Change]:
    """Others take over what it leads while it still runs."""
    epoch = image.brokers[broker_id].broker_epoch
    begun = BrokerChanged(broker_id, epoch, fenced=False, in_controlled_shutdown=True)
    return [*partitions_without(image, [broker_id], rules_of), begun]


def unregister_broker(image: Image, broker_id: int, rules_of: RulesOf) -> list[Change]:
    """It may come back with an empty disk, so nothing that it had is counted on any more."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id} to unregister"
        )
    gone = BrokerUnregistered(broker_id, broker.broker_epoch)
    return [*partitions_without(image, [broker_id], rules_of, unclean=True), gone]


def partitions_without(
    image: Image,
    broker_ids: Collection[int],
    rules_of: RulesOf,
    *,
    unclean: bool = False,
    log_dirs: Collection[bytes] | None = None,
) -> list[PartitionsChanged]:
    """`unclean`: they may have lost the ends of their logs, and are not eligible either.

    So it is with a replica in a directory that is none of `log_dirs`, if those are given: all that
    a broker comes back with.
    """

    def lost(info: PartitionInfo) -> list[int]:
        return [
            each
            for each in broker_ids
            if unclean
            or (log_dirs is not None and info.directory_of(each) not in (None, *log_dirs))
        ]

    def concerns(info: PartitionInfo) -> bool:
        if any(each in info.isr for each in broker_ids):
            return True
        return bool(info.elr) and any(each in info.elr for each in lost(info))

    def is_active(each: int, directory: bytes | None = None) -> bool:
        return each not in broker_ids and image.is_active(each, directory)

    return change_partitions(
        image,
        rules_of,
        concerns,
        lambda info, rules: next_state(info, rules, is_active, unclean_replicas=lost(info)),
    )
