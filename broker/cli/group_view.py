"""One group as its coordinator describes it, in the same form for both protocols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from broker.cli.bootstrap import check_answer
from broker.cli.cluster_client import ClusterClient, CoordinatorNode
from broker.cli.log_offsets import PartitionName
from broker.groups.consumer.embedded_protocol import CONSUMER_PROTOCOL_TYPE, read_assignment
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError

CLASSIC, CONSUMER = "classic", "consumer"
_DEAD = "Dead"
_MEMBER_TYPES = {0: CLASSIC, 1: CONSUMER}
_NO_CONSUMER_GROUP = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
"""UNSUPPORTED_VERSION: Kafka's answer where `group.version` is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    protocol: str | None
    """`classic` or `consumer`; None if the broker does not report it."""
    epoch: int | None
    """None for members of classic groups: DescribeGroups has no generation."""
    assignment: tuple[PartitionName, ...] | None
    """Sorted; None if the members are not consumers, so that nobody else can read it."""
    target: tuple[PartitionName, ...] | None = None
    """What the coordinator wants the member to have; None for members of classic groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    group_id: str
    kind: str
    """`classic` or `consumer`."""
    state: str
    protocol_type: str
    assignor: str
    epoch: int | None
    """None for a classic group: DescribeGroups has no generation."""
    assignment_epoch: int | None
    coordinator: CoordinatorNode
    members: list[MemberView] = field(default_factory=list)
    """Sorted by client id and member id."""

    def owners(self) -> dict[PartitionName, list[str]]:
        """The ids of the members that have a partition. Two are possible in a classic group only,
        if its leader assigned it twice."""
        owners: dict[PartitionName, list[str]] = {}
        for member in self.members:
            for partition in member.assignment or ():
                owners.setdefault(partition, []).append(member.member_id)
        return owners


async def view_group(cluster: ClusterClient, group_id: str) -> GroupView | None:
    """None if there is no such group, or one of another kind, such as a share group."""
    if cluster.serves(ApiKey.CONSUMER_GROUP_DESCRIBE):
        view = await _consumer_group(cluster, group_id)
        if view is not None:
            return view
    return await _classic_group(cluster, group_id)


async def _consumer_group(cluster: ClusterClient, group_id: str) -> GroupView | None:
    body = m.ConsumerGroupDescribeRequest(group_ids=[group_id])
    answered = await cluster.ask_coordinator(
        group_id, ApiKey.CONSUMER_GROUP_DESCRIBE, body, _codes_of_groups
    )
    [group] = answered.answer.groups
    if group.error_code in _NO_CONSUMER_GROUP:
        return None
    check_answer(f"group {group_id}", group.error_code, group.error_message)
    return GroupView(
        group_id=group_id,
        kind=CONSUMER,
        state=group.group_state,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        assignor=group.assignor_name,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        coordinator=await cluster.coordinator(group_id),
        members=_in_order(_consumer_member(each) for each in group.members),
    )


def _consumer_member(member: m.Member) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=_host(member.client_host),
        protocol=_MEMBER_TYPES.get(member.member_type),
        epoch=member.member_epoch,
        assignment=_partitions(member.assignment),
        target=_partitions(member.target_assignment),
    )


def _partitions(
    assignment: m.ConsumerGroupDescribeResponseAssignment,
) -> tuple[PartitionName, ...]:
    return tuple(
        sorted(
            PartitionName(topic.topic_name, index)
            for topic in assignment.topic_partitions
            for index in topic.partitions
        )
    )


async def _classic_group(cluster: ClusterClient, group_id: str) -> GroupView | None:
    body = m.DescribeGroupsRequest(groups=[group_id])
    answered = await cluster.ask_coordinator(
        group_id, ApiKey.DESCRIBE_GROUPS, body, _codes_of_groups
    )
    [group] = answered.answer.groups
    # Before version 6 an unknown group is a dead one.
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or group.group_state == _DEAD:
        return None
    check_answer(f"group {group_id}", group.error_code, group.error_message)
    is_of_consumers = group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")
    return GroupView(
        group_id=group_id,
        kind=CLASSIC,
        state=group.group_state,
        protocol_type=group.protocol_type,
        assignor=group.protocol_data,
        epoch=None,
        assignment_epoch=None,
        coordinator=await cluster.coordinator(group_id),
        members=_in_order(_classic_member(each, is_of_consumers) for each in group.members),
    )


def _classic_member(member: m.DescribedGroupMember, is_consumer: bool) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=_host(member.client_host),
        protocol=CLASSIC,
        epoch=None,
        assignment=_assigned(bytes(member.member_assignment)) if is_consumer else None,
    )


def _assigned(data: bytes) -> tuple[PartitionName, ...] | None:
    try:
        assignment = read_assignment(data)
    except MalformedMessageError:
        return None
    return tuple(
        sorted(
            PartitionName(topic.topic, index)
            for topic in assignment.assigned_partitions
            for index in topic.partitions
        )
    )


def _in_order(members: Iterable[MemberView]) -> list[MemberView]:
    return sorted(members, key=lambda each: (each.client_id, each.member_id))


def _host(told: str) -> str:
    """Kafka writes a slash before the address."""
    return told.removeprefix("/")


def _codes_of_groups(
    answer: m.DescribeGroupsResponse | m.ConsumerGroupDescribeResponse,
) -> list[int]:
    return [each.error_code for each in answer.groups]
