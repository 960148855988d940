"""A group of one protocol as the records of a group of the other."""

from __future__ import annotations

from collections.abc import Sequence

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.classic.context import ClassicContext
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.member import Member as ClassicMember
from broker.groups.classic.state import State
from broker.groups.consumer import group_records
from broker.groups.consumer.around import Around
from broker.groups.consumer.embedded_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    by_topic_id,
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_state import FIRST_EPOCH
from broker.groups.consumer.member import ClassicProtocolOffer, ClassicSession, Member
from broker.groups.consumer.partitions import with_epoch, without_epochs
from broker.protocol.errors import ErrorCode, KafkaError, MalformedMessageError

_COMPUTED_NEVER_MS = 0
"""So that the first member of the new protocol gets its share at once."""


def to_consumer_group(
    group: ClassicGroup, around: Around, instance_id: str | None
) -> list[CoordinatorRecord]:
    """The records of a consumer group whose members all speak the classic protocol.

    They are in the epoch of the last generation, and own what its leader assigned to them. If that
    is not everything, because a rebalance is under way, the group needs a new target. It gets one
    when a member joins, except for a static member that only changes its protocol: `instance_id`
    is that of the member for which the group is converted. Raises KafkaError if the members are no
    consumers, or have assignors of their own.
    """
    members = [_to_consumer(group, member, around) for member in group.members]
    names = {name for member in members for name in member.topic_names}
    group_id, epoch = group.group_id, _epoch(group)
    is_replaced = group.members.static_id(instance_id) is not None
    group_epoch = epoch + 1 if is_replaced and group.state is not State.STABLE else epoch
    return [
        *(group_records.member(group_id, member) for member in members),
        group_records.group_epoch(group_id, group_epoch, around.hashes.of(names)),
        *(
            group_records.target(group_id, member.member_id, without_epochs(member.assigned))
            for member in members
        ),
        group_records.target_epoch(group_id, epoch, _COMPUTED_NEVER_MS),
        *(group_records.current(group_id, member) for member in members),
    ]


def _to_consumer(group: ClassicGroup, member: ClassicMember, around: Around) -> Member:
    chosen = group.protocol_name or member.protocols[0][0]
    try:
        assignment = read_assignment(member.assignment)
        subscription = read_subscription(member.metadata(chosen))
    except MalformedMessageError:
        raise _impossible(group, "the embedded consumer protocol is malformed") from None
    if assignment.user_data:
        raise _impossible(group, "an unsupported custom assignor is in use")
    owned = {each.topic: each.partitions for each in assignment.assigned_partitions}
    epoch = _epoch(group)
    return Member(
        member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicSession(
            member.session_timeout_ms,
            tuple(ClassicProtocolOffer(name, data) for name, data in member.protocols),
        ),
        epoch=epoch,
        previous_epoch=epoch,
        assigned=with_epoch(by_topic_id(owned, around.topics), epoch),
    )


def _epoch(group: ClassicGroup) -> int:
    """Epochs begin with 1; a generation is 0 before the first rebalance has ended."""
    return max(FIRST_EPOCH, group.generation)


def _impossible(group: ClassicGroup, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"cannot upgrade classic group {group.group_id} to consumer group because {why}",
    )


def to_classic_group(
    group: ConsumerGroup, members: Sequence[Member], context: ClassicContext, now: Now
) -> tuple[CoordinatorRecord, str]:
    """The record of a classic group with these members, and the protocol that it uses.

    All of them speak the classic protocol. Their assignment is what the target says, in the
    generation of the group's epoch.
    """
    classic = ClassicGroup(group.group_id, context, now.wall_ms)
    classic.generation = group.state.epoch
    classic.protocol_type = CONSUMER_PROTOCOL_TYPE
    for member in members:
        classic.members.add(_to_classic(member))
    protocol = classic.members.elect_protocol() or ""
    classic.protocol_name = protocol
    assignments = {member.member_id: _assignment(group, member, protocol) for member in members}
    return classic.record(classic.members, assignments, classic.members.leader), protocol


def _to_classic(member: Member) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.classic.session_timeout_ms,
        member.rebalance_timeout_ms,
        tuple((each.name, each.metadata) for each in member.classic.protocols),
    )


def _assignment(group: ConsumerGroup, member: Member, protocol: str) -> bytes:
    assert member.classic is not None
    offers = {each.name: each.metadata for each in member.classic.protocols}
    target = group.state.target_of(member.member_id, member.instance_id)
    return write_assignment(target, group.around.topics, version_of(offers[protocol]))
