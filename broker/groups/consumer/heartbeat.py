"""ConsumerGroupHeartbeat: members join, stay and leave by it, and learn what they may own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import fencing, group_records
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import JOIN_EPOCH, STATIC_LEAVE_EPOCH, Member
from broker.groups.consumer.member_update import MemberUpdate
from broker.groups.consumer.partitions import (
    NOTHING_HELD,
    Held,
    Partitions,
    from_pairs,
    in_order,
    is_within,
    without_epochs,
)
from broker.groups.group import GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError


@dataclass(slots=True)
class Outcome:
    records: list[CoordinatorRecord]
    response: m.ConsumerGroupHeartbeatResponse


def join_or_stay(
    group: ConsumerGroup,
    request: m.ConsumerGroupHeartbeatRequest,
    client: GroupClient,
    new_uuid: Callable[[], str],
    now: Now,
) -> Outcome:
    """Raises KafkaError. A member of version 0 brings no id, and gets a new one."""
    check_size(group, request.member_id)
    member_id = request.member_id or new_uuid()
    owned = _owned(request)
    records: list[CoordinatorRecord] = []
    if request.instance_id is None:
        before = _dynamic_member(group, member_id, request, owned)
    else:
        before, records = _static_member(group, member_id, request.instance_id, request, owned)
    update = MemberUpdate(group, before, _updated(group, before, request, client), now)
    member = update.carry_out(owned)
    group.expect_heartbeat(member, now)
    response = m.ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group.around.settings.group_consumer_heartbeat_interval_ms,
    )
    is_joining = request.member_epoch == JOIN_EPOCH
    if is_joining or _is_full(request) or member.assigned != before.assigned:
        response.assignment = _assignment(member.assigned)
    return Outcome(records + update.records, response)


def leave(group: ConsumerGroup, request: m.ConsumerGroupHeartbeatRequest, now: Now) -> Outcome:
    """Raises KafkaError."""
    member_id, epoch = request.member_id, request.member_epoch
    if request.instance_id is None:
        member = known_member(group, member_id)
    else:
        member = known_static_member(group, request.instance_id, member_id)
    if request.instance_id is not None and epoch == STATIC_LEAVE_EPOCH:
        records = [group_records.current(group.group_id, _gone_for_a_while(member))]
    else:
        records = fencing.fence(group, [member], now)
    return Outcome(
        records, m.ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch)
    )


def _gone_for_a_while(member: Member) -> Member:
    return replace(
        member,
        epoch=STATIC_LEAVE_EPOCH,
        revoking=NOTHING_HELD,
        assigned={topic: dict.fromkeys(held, 0) for topic, held in member.assigned.items()},
    )


# Who sends the request


def check_size(group: ConsumerGroup, member_id: str) -> None:
    size_max = group.around.settings.group_consumer_max_size
    if len(group.state.members) >= size_max and member_id not in group.state.members:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the consumer group has reached its maximum capacity of {size_max} members",
        )


def known_member(group: ConsumerGroup, member_id: str) -> Member:
    member = group.state.members.get(member_id)
    if member is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"member {member_id} is not a member of group {group.group_id}",
        )
    return member


def known_static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> Member:
    member = group.state.static_member(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"instance id {instance_id} is unknown")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}",
        )
    return member


def _dynamic_member(
    group: ConsumerGroup,
    member_id: str,
    request: m.ConsumerGroupHeartbeatRequest,
    owned: Partitions | None,
) -> Member:
    if request.member_epoch == JOIN_EPOCH:
        return group.state.members.get(member_id, Member(member_id))
    member = known_member(group, member_id)
    _check_epoch(member, request.member_epoch, owned)
    return member


def _static_member(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str,
    request: m.ConsumerGroupHeartbeatRequest,
    owned: Partitions | None,
) -> tuple[Member, list[CoordinatorRecord]]:
    if request.member_epoch != JOIN_EPOCH:
        member = known_static_member(group, instance_id, member_id)
        _check_epoch(member, request.member_epoch, owned)
        return member, []
    existing = group.state.static_member(instance_id)
    if existing is None:
        return group.state.members.get(member_id, Member(member_id)), []
    if existing.epoch != STATIC_LEAVE_EPOCH and not existing.uses_classic_protocol:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"static member {member_id} with instance id {instance_id} cannot join the group "
            f"because the instance id is owned by member {existing.member_id}",
        )
    return replace_static_member(group, existing, member_id)


def replace_static_member(
    group: ConsumerGroup, existing: Member, member_id: str
) -> tuple[Member, list[CoordinatorRecord]]:
    """The successor, with all that the predecessor had, and the records of the replacement."""
    successor = replace(existing, member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    group_id = group.group_id
    target = group.state.target_of(existing.member_id)
    return successor, [
        *group_records.no_member(group_id, existing.member_id),
        group_records.member(group_id, successor),
        group_records.target(group_id, member_id, target),
        group_records.current(group_id, successor),
    ]


def _check_epoch(member: Member, epoch: int, owned: Partitions | None) -> None:
    """A member that missed the reply with its new epoch still sends the one before. That is
    accepted as long as it owns nothing that it may not own now."""
    if epoch == member.epoch:
        return
    is_before = epoch < member.epoch and epoch == member.previous_epoch
    if is_before and owned is not None and is_within(owned, member.assigned):
        return
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"the member has a {'greater' if epoch > member.epoch else 'smaller'} member epoch "
        f"({epoch}) than the one known by the group coordinator ({member.epoch}); it must abandon "
        "all its partitions and rejoin",
    )


# What the request says, and its answer


def _updated(
    group: ConsumerGroup,
    before: Member,
    request: m.ConsumerGroupHeartbeatRequest,
    client: GroupClient,
) -> Member:
    """The member with the fields that the request has. A heartbeat leaves out what stayed."""
    names = before.topic_names
    if request.subscribed_topic_names is not None:
        names = group.state.subscriptions.shared(frozenset(request.subscribed_topic_names))
    regex = request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    after = Member(
        before.member_id,
        request.instance_id if request.instance_id is not None else before.instance_id,
        request.rack_id if request.rack_id is not None else before.rack_id,
        client.client_id,
        client.client_host,
        names,
        before.topic_regex if regex is None else regex,
        before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        request.server_assignor if request.server_assignor is not None else before.server_assignor,
        None,
        before.epoch,
        before.previous_epoch,
        before.state,
        before.assigned,
        before.revoking,
    )
    return before if after == before else after


def _owned(request: m.ConsumerGroupHeartbeatRequest) -> Partitions | None:
    if request.topic_partitions is None:
        return None
    return from_pairs((each.topic_id, each.partitions) for each in request.topic_partitions)


def _is_full(request: m.ConsumerGroupHeartbeatRequest) -> bool:
    """Members send everything when they join, and after an error."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    is_subscribed = names is not None or regex is not None
    has_timeout = request.rebalance_timeout_ms != -1
    return has_timeout and is_subscribed and request.topic_partitions is not None


def _assignment(held: Held) -> m.ConsumerGroupHeartbeatResponseAssignment:
    return m.ConsumerGroupHeartbeatResponseAssignment(
        topic_partitions=[
            m.ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in in_order(without_epochs(held))
        ]
    )
