"""JoinGroup: who becomes a member, who is one already, and whether that begins a rebalance."""

from __future__ import annotations

from dataclasses import dataclass

from broker.coordination.step import Now, Reply, Step, Ticket, in_turn, reply
from broker.groups.classic import answers, rebalance
from broker.groups.classic.context import NEW_MEMBER_JOIN_TIMEOUT_MS
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.member import Member, Protocols
from broker.groups.classic.state import State
from broker.groups.group import GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_UNKNOWN = ""
_FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
_FIRST_VERSION_WITH_REQUIRED_IDS = 4
_FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT = 9


@dataclass(frozen=True, slots=True)
class Joiner:
    """Who wants to join, whatever the version of the request."""

    client: GroupClient
    version: int
    member_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols

    @staticmethod
    def of(body: m.JoinGroupRequest, version: int, client: GroupClient) -> Joiner:
        has_timeout = version >= _FIRST_VERSION_WITH_REBALANCE_TIMEOUT
        return Joiner(
            client,
            version,
            body.member_id,
            body.group_instance_id,
            body.session_timeout_ms,
            body.rebalance_timeout_ms if has_timeout else body.session_timeout_ms,
            body.protocol_type,
            tuple((each.name, each.metadata) for each in body.protocols),
        )

    def as_member(self, member_id: str) -> Member:
        return Member(
            member_id,
            self.instance_id,
            self.client.client_id,
            self.client.client_host,
            self.session_timeout_ms,
            self.rebalance_timeout_ms,
            self.protocols,
        )


def join(group: ClassicGroup, ticket: Ticket, joiner: Joiner, now: Now) -> Step:
    """The session timeout is within its bounds: that is checked before a group is looked up."""
    if not _has_room_for(group, joiner.member_id):
        # It may be a member: one too many of a group whose largest size was reduced.
        replies = group.members.remove(joiner.member_id)
        group.timers.cancel_session(joiner.member_id)
        refusal = _error(ticket, ErrorCode.GROUP_MAX_SIZE_REACHED, _UNKNOWN)
        return in_turn(Step(replies=replies), refusal)
    if not group.supports(joiner.protocol_type, (name for name, _ in joiner.protocols)):
        return _error(ticket, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, joiner.member_id)
    if joiner.member_id == _UNKNOWN:
        return _join_without_id(group, ticket, joiner, now)
    if joiner.member_id in group.members.pending_joins:
        if joiner.instance_id is not None:
            # Static members get their id with their first answer, so this is no client of ours.
            return _error(ticket, ErrorCode.UNKNOWN_SERVER_ERROR, _UNKNOWN)
        return _add(group, ticket, joiner, joiner.member_id, now)
    code = group.check_member(joiner.member_id, joiner.instance_id)
    member = group.members.get(joiner.member_id)
    if code or member is None:
        return _error(ticket, code, joiner.member_id)
    return _join_again(group, ticket, joiner, member, now)


def _error(ticket: Ticket, code: ErrorCode, member_id: str) -> Step:
    return reply(ticket, answers.join_error(code, member_id))


def _has_room_for(group: ClassicGroup, member_id: str) -> bool:
    most = group.context.settings.group_max_size
    member = group.members.get(member_id)
    match group.state:
        case State.EMPTY:
            return True
        case State.PREPARING:
            # Not by the number of members: it may be too large already, and who comes last goes.
            is_waiting = member is not None and member.join is not None
            return is_waiting or group.members.joining_count < most
        case State.COMPLETING | State.STABLE:
            return member is not None or len(group.members) < most


# New members


def _join_without_id(group: ClassicGroup, ticket: Ticket, joiner: Joiner, now: Now) -> Step:
    is_static = joiner.instance_id is not None
    name = joiner.instance_id if is_static else joiner.client.client_id
    member_id = f"{name}-{group.context.new_uuid()}"
    old_id = group.members.static_id(joiner.instance_id)
    old = None if old_id is None else group.members.get(old_id)
    if old is not None:
        return _replace(group, ticket, joiner, old, joiner.as_member(member_id), now)
    if not is_static and joiner.version >= _FIRST_VERSION_WITH_REQUIRED_IDS:
        # A client that gives up and tries again would otherwise leave a member behind each time.
        group.members.pending_joins[member_id] = None
        group.timers.set_session(member_id, joiner.session_timeout_ms, now)
        return _error(ticket, ErrorCode.MEMBER_ID_REQUIRED, member_id)
    return _add(group, ticket, joiner, member_id, now)


def _add(group: ClassicGroup, ticket: Ticket, joiner: Joiner, member_id: str, now: Now) -> Step:
    if not group.members:
        group.protocol_type = joiner.protocol_type
    member = joiner.as_member(member_id)
    member.is_new = True
    group.members.add(member)
    group.member_came = True
    group.members.park_join(member, ticket)
    group.timers.set_session(member_id, NEW_MEMBER_JOIN_TIMEOUT_MS, now)
    return rebalance.prepare_or_go_on(group, now)


# Members


def _join_again(
    group: ClassicGroup, ticket: Ticket, joiner: Joiner, member: Member, now: Now
) -> Step:
    has_changed = member.protocols != joiner.protocols
    match group.state:
        case State.EMPTY | State.PREPARING:
            takes_part = True
        case State.COMPLETING:
            takes_part = has_changed
        case State.STABLE:
            # The leader may have seen more partitions: it joins to assign them.
            takes_part = has_changed or member.member_id == group.members.leader
    if not takes_part:
        return reply(ticket, rebalance.joined(group, member))  # it has missed the first answer
    group.members.change_protocols(member, joiner.protocols)
    member.session_timeout_ms = joiner.session_timeout_ms
    member.rebalance_timeout_ms = joiner.rebalance_timeout_ms
    repeated = group.members.park_join(member, ticket)
    return in_turn(Step(replies=repeated), rebalance.prepare_or_go_on(group, now))


# Static members that come back


def _replace(
    group: ClassicGroup, ticket: Ticket, joiner: Joiner, old: Member, new: Member, now: Now
) -> Step:
    """A static member that has started again has the same instance id and no member id."""
    new.assignment = old.assignment
    is_stable = group.state is State.STABLE
    if is_stable and group.members.elect_protocol(new) == group.protocol_name:
        return _replace_quietly(group, ticket, joiner, old, new, now)
    replies = group.members.replace(old, new)
    group.timers.cancel_session(old.member_id)
    group.timers.set_session(new.member_id, new.session_timeout_ms, now)
    group.members.park_join(new, ticket)
    # In CompletingRebalance the leader may already assign to the old id, so it begins anew.
    return in_turn(Step(replies=replies), rebalance.prepare_or_go_on(group, now))


def _replace_quietly(
    group: ClassicGroup, ticket: Ticket, joiner: Joiner, old: Member, new: Member, now: Now
) -> Step:
    """Nothing changes but an id: it is stored, and there is no rebalance."""
    members = [new if each is old else each for each in group.members]
    was_leader = group.members.leader == old.member_id
    leader = new.member_id if was_leader else group.members.leader
    group.arriving = new
    group.timers.set_session(new.member_id, new.session_timeout_ms, now)
    if old.member_id in group.members.pending_syncs:
        group.members.pending_syncs[new.member_id] = None

    def refused(code: ErrorCode, now: Now) -> Step:
        group.arriving = None
        group.timers.cancel_session(new.member_id)
        group.members.pending_syncs.pop(new.member_id, None)
        return _error(ticket, code, _UNKNOWN)

    response = m.JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader or "",
        member_id=new.member_id,
        members=[],
    )
    if was_leader and joiner.version >= _FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT:
        # It looks after the subscribed topics as a leader does, without a new assignment (KIP-814).
        response.skip_assignment = True
        response.members = answers.members_joined(members, group.protocol_name)
    elif was_leader:
        response.leader = old.member_id  # so that it does not assign
    assignments = {each.member_id: each.assignment for each in members}
    record = group.record(members, assignments, leader)
    return Step([record], [Reply(ticket, response)], refused)
