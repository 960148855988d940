"""Moves partitions to other brokers: begun and cancelled here, ended by `partition_change`.

While it goes on, a partition has its old and its new replicas. The new ones fetch; when they
are all in sync, and enough of those who stay, the ones that are to go are taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker.controller.partition_change import Assignment, next_state
from broker.controller.partition_scan import find_partition
from broker.controller.topic_rules import RulesOf, TopicRules
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True)
class Reassignment:
    topic: str
    index: int
    info: PartitionInfo


def ongoing_reassignments(image: Image) -> Iterator[Reassignment]:
    for topic in image.topics_sorted():
        for index, info in enumerate(topic.partitions):
            if info.adding_replicas or info.removing_replicas:
                yield Reassignment(topic.name, index, info)


def reassign(
    image: Image,
    name: str,
    index: int,
    target: Sequence[int] | None,
    rules_of: RulesOf,
    *,
    allow_factor_change: bool = True,
) -> list[PartitionsChanged]:
    """None as target cancels. A change of the order alone is done at once, without election."""
    topic, old = find_partition(image, name, index)
    before = tuple(each for each in old.replicas if each not in old.adding_replicas)
    if target is None:
        if not old.adding_replicas and not old.removing_replicas:
            raise KafkaError(
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{name}-{index} is not being reassigned"
            )
        assignment = Assignment(replicas=before)
    else:
        _check_target(image, old, target, allow_factor_change)
        removing = tuple(each for each in before if each not in target)
        assignment = Assignment(
            replicas=(*target, *removing),
            adding=tuple(each for each in target if each not in before),
            removing=removing,
        )
    rules = rules_of(name)
    _check_kept(old, assignment, rules)
    info = next_state(old, rules, image.is_active, assignment=assignment)
    return [] if info is None else [PartitionsChanged(name, topic.topic_id, ((index, info),))]


def _check_target(
    image: Image, old: PartitionInfo, target: Sequence[int], allow_factor_change: bool
) -> None:
    if not target:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition needs a replica")
    if len(set(target)) != len(target):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"a broker comes twice in {list(target)}"
        )
    for broker_id in target:
        if broker_id not in image.brokers:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"broker {broker_id} is not registered"
            )
    factor = len(Assignment.of(old).staying)
    if not allow_factor_change and len(target) != factor:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"the replication factor is {factor}, and {len(target)} would change it",
        )


def _check_kept(old: PartitionInfo, assignment: Assignment, rules: TopicRules) -> None:
    """What an earlier reassignment adds is dropped at once, but not the last good copies.

    Who is eligible has all that is committed, too; and where nobody is, who led last has most.
    """
    good = (*old.isr, *old.elr) or old.last_known_elr
    kept = [each for each in good if each in assignment.replicas]
    enough = min(len(good), rules.min_isr_of(len(assignment.replicas)))
    if len(kept) < enough and not rules.unclean:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"of the good copies {list(good)} only {kept} would be left; "
            "wait for others to be in sync",
        )
