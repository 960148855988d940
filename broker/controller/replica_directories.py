"""AssignReplicasToDirs: a broker with several log directories says what lies in which (KIP-858).

With that known, a directory that fails takes only its own replicas out of the ISRs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from broker.controller.broker_events import current_broker
from broker.controller.partition_change import next_state
from broker.controller.topic_rules import RulesOf
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Lying:
    """One replica of the broker that asks."""

    directory: bytes
    topic_id: bytes
    index: int


class Assigned(NamedTuple):
    changes: list[PartitionsChanged]
    errors: dict[Lying, ErrorCode]
    """Of each that was asked for."""


def assign_directories(
    image: Image, broker_id: int, broker_epoch: int, asked: Iterable[Lying], rules_of: RulesOf
) -> Assigned:
    """Raises KafkaError(STALE_BROKER_EPOCH). What cannot be is answered, and the rest is done."""
    broker = current_broker(image, broker_id, broker_epoch)
    errors: dict[Lying, ErrorCode] = {}
    wanted: dict[bytes, dict[int, bytes]] = {}
    for each in asked:
        errors[each] = _refusal(image, broker_id, broker.log_dirs, each)
        if errors[each] is ErrorCode.NONE:
            # Twice in one request: the last word counts.
            wanted.setdefault(each.topic_id, {})[each.index] = each.directory
    changes = []
    for topic_id, directories in wanted.items():
        name = image.names_by_id[topic_id]
        partitions, rules = image.topics[name].partitions, rules_of(name)
        changed: list[tuple[int, PartitionInfo]] = []
        for index, directory in sorted(directories.items()):
            known = partitions[index].directory_of(broker_id)
            # Whatever the replica held went with its directory: it has begun anew in this one.
            is_new = known is not None and known not in broker.log_dirs
            info = next_state(
                partitions[index],
                rules,
                image.is_active,
                directories={broker_id: directory},
                emptied_replicas=(broker_id,) if is_new else (),
            )
            if info is not None:
                changed.append((index, info))
        if changed:
            changes.append(PartitionsChanged(name, topic_id, tuple(changed)))
    return Assigned(changes, errors)


def _refusal(image: Image, broker_id: int, log_dirs: tuple[bytes, ...], asked: Lying) -> ErrorCode:
    topic = image.topic_by_id(asked.topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not 0 <= asked.index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in topic.partitions[asked.index].replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if asked.directory not in log_dirs:
        return ErrorCode.LOG_DIR_NOT_FOUND
    return ErrorCode.NONE
