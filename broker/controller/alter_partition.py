"""AlterPartition: a leader asks for another ISR, and the controller agrees or refuses.

The ISR changes nowhere else, so a leader that was deposed, or that looks at an older state, can
shrink or grow nothing (R09). Each new member comes with the broker epoch under which the leader
saw it fetch: a replica that has restarted since has another one (R08).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from broker.controller.broker_events import current_broker
from broker.controller.partition_change import next_state
from broker.controller.partition_scan import find_partition
from broker.controller.topic_rules import RulesOf
from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import RECOVERED, RECOVERING, PartitionInfo
from broker.protocol.errors import ErrorCode, KafkaError


class IsrMember(NamedTuple):
    broker_id: int
    broker_epoch: int = UNKNOWN_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrRequest:
    """For one partition, by the leader `broker_id`."""

    broker_id: int
    broker_epoch: int
    topic_id: bytes
    index: int
    leader_epoch: int
    partition_epoch: int
    new_isr: Sequence[IsrMember]
    leader_recovery_state: int = RECOVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredPartition:
    """True once the changes are made. The leader is told the error even so."""

    changes: list[PartitionsChanged]
    info: PartitionInfo
    error: ErrorCode = ErrorCode.NONE


def alter_partition(image: Image, request: IsrRequest, rules_of: RulesOf) -> AlteredPartition:
    """Raises KafkaError, and then nothing changes."""
    current_broker(image, request.broker_id, request.broker_epoch)
    name = image.names_by_id.get(request.topic_id)
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
    _, old = find_partition(image, name, request.index)
    _check_epochs(f"{name}-{request.index}", old, request)
    _check_members(old, request)
    for member in request.new_isr:
        _check_eligible(image, member, old)
    info = next_state(
        old,
        rules_of(name),
        image.is_active,
        isr=[member.broker_id for member in request.new_isr],
        recovery_state=request.leader_recovery_state,
    )
    if info is None:
        # A leader that confirms the ISR wants to be sure that nothing it asked for before comes
        # true later: the new partition epoch sees to that.
        info = replace(old, partition_epoch=old.partition_epoch + 1)
    return AlteredPartition(
        changes=[PartitionsChanged(name, request.topic_id, ((request.index, info),))],
        info=info,
        # A reassignment may end with this, and take the leader itself off the list.
        error=ErrorCode.NONE if info.leader == old.leader else ErrorCode.NEW_LEADER_ELECTED,
    )


def _check_epochs(name: str, old: PartitionInfo, request: IsrRequest) -> None:
    asked = request.leader_epoch, request.partition_epoch
    if asked[0] > old.leader_epoch or asked[1] > old.partition_epoch:
        raise KafkaError(
            ErrorCode.NOT_CONTROLLER,
            f"{name} is only at leader epoch {old.leader_epoch} and partition epoch "
            f"{old.partition_epoch} here, so another controller knows more",
        )
    if asked[0] < old.leader_epoch:
        raise KafkaError(
            ErrorCode.FENCED_LEADER_EPOCH,
            f"{name} is at leader epoch {old.leader_epoch}, not {asked[0]}",
        )
    if request.broker_id != old.leader:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"broker {request.broker_id} does not lead {name}; broker {old.leader} does",
        )
    if asked[1] < old.partition_epoch:
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"{name} is at partition epoch {old.partition_epoch}, not {asked[1]}",
        )


def _check_members(old: PartitionInfo, request: IsrRequest) -> None:
    members = [member.broker_id for member in request.new_isr]
    if len(set(members)) != len(members) or any(each not in old.replicas for each in members):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"the ISR {members} is not part of the replicas {list(old.replicas)}",
        )
    if old.leader not in members:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"the ISR {members} is without the leader {old.leader}"
        )
    if request.leader_recovery_state == RECOVERING:
        if len(members) > 1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"a leader that recovers has nobody in sync with it, but asks for {members}",
            )
        if old.leader_recovery_state == RECOVERED:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "a leader that has recovered does not recover again"
            )


def _check_eligible(image: Image, member: IsrMember, old: PartitionInfo) -> None:
    """Of a member that stays, the leader may not know the epoch; of a new one it must (R08)."""
    is_known = member.broker_id in old.isr and member.broker_epoch == UNKNOWN_BROKER_EPOCH
    broker = image.brokers.get(member.broker_id)
    if broker is None:
        why = "is not registered"
    elif broker.fenced:
        why = "is fenced"
    elif broker.in_controlled_shutdown:
        why = "shuts down"
    elif not broker.has_online(old.directory_of(member.broker_id)):
        why = "cannot use the directory that its replica lies in"
    elif not is_known and member.broker_epoch != broker.broker_epoch:
        why = f"has restarted: its epoch is {broker.broker_epoch}, not {member.broker_epoch}"
    else:
        return
    raise KafkaError(ErrorCode.INELIGIBLE_REPLICA, f"broker {member.broker_id} {why}")
