"""Members of a consumer group that speak the classic protocol (KIP-848, "online migration").

They join, sync and send heartbeats as ever. The coordinator assigns for them: a JoinGroup is
answered at once, no member is the leader, the generation is the member's epoch, and a SyncGroup
brings what is assigned now. When a member has to give up partitions or may have more, its heartbeat
is answered REBALANCE_IN_PROGRESS, and it joins again with what it still owns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import fencing
from broker.groups.consumer.around import JOIN, SYNC
from broker.groups.consumer.embedded_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    by_topic_id,
    read_subscription,
    version_of,
    write_assignment,
)
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.heartbeat import (
    check_size,
    known_member,
    known_static_member,
    replace_static_member,
)
from broker.groups.consumer.member import (
    ClassicProtocolOffer,
    ClassicSession,
    Member,
    MemberState,
)
from broker.groups.consumer.member_update import MemberUpdate
from broker.groups.consumer.partitions import without_epochs
from broker.groups.group import GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError, MalformedMessageError

_FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
_FIRST_VERSION_WITH_REQUIRED_IDS = 4


@dataclass(slots=True)
class Joined:
    records: list[CoordinatorRecord]
    member: Member

    def response(self) -> m.JoinGroupResponse:
        return m.JoinGroupResponse(
            generation_id=self.member.epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=_protocol(self.member).name,
            leader="",
            member_id=self.member.member_id,
            members=[],
        )


class MemberIdRequiredError(Exception):
    """The member has to come again with this id."""

    def __init__(self, member_id: str) -> None:
        super().__init__(member_id)
        self.member_id = member_id


def join(
    group: ConsumerGroup,
    request: m.JoinGroupRequest,
    version: int,
    client: GroupClient,
    new_uuid: Callable[[], str],
    now: Now,
) -> Joined:
    """Raises KafkaError, MemberIdRequiredError."""
    member_id = request.member_id or new_uuid()
    check_join(group, request, member_id)
    is_static = request.group_instance_id is not None
    if not request.member_id and not is_static and version >= _FIRST_VERSION_WITH_REQUIRED_IDS:
        raise MemberIdRequiredError(member_id)
    records: list[CoordinatorRecord] = []
    if request.group_instance_id is None:
        before = group.state.members.get(member_id, Member(member_id))
    else:
        before, records = _static_member(group, request, request.group_instance_id, member_id)
    after, owned = joining_member(group, before, request, version, client)
    update = MemberUpdate(group, before, after, now)
    member = update.carry_out(owned)
    group.expect_no_more(JOIN, member.member_id)
    group.expect_heartbeat(member, now)
    group.expect_sync(member, now)
    return Joined(records + update.records, member)


def check_join(group: ConsumerGroup, request: m.JoinGroupRequest, member_id: str) -> None:
    """Raises KafkaError if such a member cannot be one of the group."""
    check_size(group, member_id)
    names = {each.name for each in request.protocols}
    state = group.state
    shared = any(state.classic_protocols[name] == state.classic_members for name in names)
    if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not shared:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"the protocols of member {member_id} are not supported",
        )


def joining_member(
    group: ConsumerGroup,
    before: Member,
    request: m.JoinGroupRequest,
    version: int,
    client: GroupClient,
) -> tuple[Member, dict[bytes, frozenset[int]]]:
    """The member as its JoinGroup describes it, and what it owns. Raises KafkaError."""
    try:
        subscription = read_subscription(request.protocols[0].metadata)
    except MalformedMessageError as problem:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the subscription is not readable: {problem}"
        ) from None
    has_timeout = version >= _FIRST_VERSION_WITH_REBALANCE_TIMEOUT
    timeout_ms = request.rebalance_timeout_ms if has_timeout else request.session_timeout_ms
    owned = {each.topic: each.partitions for each in subscription.owned_partitions}
    after = replace(
        before,
        instance_id=request.group_instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        client_id=client.client_id,
        client_host=client.client_host,
        topic_names=group.state.subscriptions.shared(frozenset(subscription.topics)),
        topic_regex="",
        rebalance_timeout_ms=timeout_ms,
        classic=ClassicSession(
            request.session_timeout_ms,
            tuple(ClassicProtocolOffer(each.name, each.metadata) for each in request.protocols),
        ),
    )
    return after, dict(by_topic_id(owned, group.around.topics))


def _static_member(
    group: ConsumerGroup, request: m.JoinGroupRequest, instance_id: str, member_id: str
) -> tuple[Member, list[CoordinatorRecord]]:
    """A static member without an id is a new process; it takes the place of the old one."""
    if request.member_id:
        return known_static_member(group, instance_id, member_id), []
    existing = group.state.static_member(instance_id)
    if existing is None:
        return Member(member_id), []
    return replace_static_member(group, existing, member_id)


def sync(group: ConsumerGroup, request: m.SyncGroupRequest, now: Now) -> m.SyncGroupResponse:
    """Raises KafkaError."""
    member = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    protocol = _protocol(member)
    for said, known in (
        (request.protocol_type, CONSUMER_PROTOCOL_TYPE),
        (request.protocol_name, protocol.name),
    ):
        if said is not None and said != known:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{said} is not the group's {known}"
            )
    is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
    if group.state.epoch > member.epoch and not is_revoking:
        group.expect_join(member, now)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "a new rebalance has begun")
    group.expect_no_more(SYNC, member.member_id)
    group.expect_heartbeat(member, now)
    return m.SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(
            without_epochs(member.assigned), group.around.topics, version_of(protocol.metadata)
        ),
    )


def heartbeat(group: ConsumerGroup, request: m.HeartbeatRequest, now: Now) -> m.HeartbeatResponse:
    """Raises KafkaError."""
    member = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    group.expect_heartbeat(member, now)
    if not _has_to_join(group, member):
        return m.HeartbeatResponse()
    group.expect_join(member, now)
    return m.HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


def _has_to_join(group: ConsumerGroup, member: Member) -> bool:
    """To see a newer epoch, to confirm what it gave up, or to get what has become free."""
    match member.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS:
            return member.epoch < group.state.epoch or not _waits_for_others(group, member)
        case _:
            return member.epoch < group.state.epoch


def _waits_for_others(group: ConsumerGroup, member: Member) -> bool:
    target = group.state.target_of(member.member_id)
    return any(
        group.state.owners.is_held(topic_id, number)
        for topic_id, numbers in target.items()
        for number in numbers.difference(member.assigned.get(topic_id, ()))
    )


def leave(
    group: ConsumerGroup, request: m.LeaveGroupRequest, now: Now
) -> tuple[list[CoordinatorRecord], m.LeaveGroupResponse]:
    """Any number of members at once, of either protocol."""
    leaving: dict[str, Member] = {}
    answers = []
    for leaver in request.members:
        code = ErrorCode.NONE
        try:
            member = _leaver(group, leaver)
            leaving[member.member_id] = member
        except KafkaError as problem:
            code = problem.code
        answers.append(
            m.MemberResponse(
                member_id=leaver.member_id,
                group_instance_id=leaver.group_instance_id,
                error_code=code,
            )
        )
    records = fencing.fence(group, list(leaving.values()), now)
    return records, m.LeaveGroupResponse(members=answers)


def _leaver(group: ConsumerGroup, leaver: m.MemberIdentity) -> Member:
    """An administrator knows only the instance id of a static member."""
    if leaver.group_instance_id is None:
        return known_member(group, leaver.member_id)
    member = group.state.static_member(leaver.group_instance_id)
    if member is not None and not leaver.member_id:
        return member
    return known_static_member(group, leaver.group_instance_id, leaver.member_id)


def _classic_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    if instance_id is None:
        member = known_member(group, member_id)
    else:
        member = known_static_member(group, instance_id, member_id)
    if not member.uses_classic_protocol:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"member {member_id} does not use the classic protocol"
        )
    return member


def _check_generation(member: Member, generation: int) -> None:
    if generation != member.epoch:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION,
            f"generation {generation} is not the epoch {member.epoch} of {member.member_id}",
        )


def _protocol(member: Member) -> ClassicProtocolOffer:
    assert member.classic is not None
    return member.classic.protocols[0]
