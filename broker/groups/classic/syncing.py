"""SyncGroup: the leader brings the assignments, everybody fetches its own."""

from __future__ import annotations

from broker.coordination.step import Now, Reply, Step, Ticket, in_turn, reply
from broker.groups.classic import answers, rebalance
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.member import Member
from broker.groups.classic.state import State
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode


def sync(group: ClassicGroup, ticket: Ticket, body: m.SyncGroupRequest, now: Now) -> Step:
    code = _check(group, body)
    member = group.members.get(body.member_id)
    if code or member is None:
        return reply(ticket, answers.sync_error(code))
    if group.state is State.PREPARING:
        return reply(ticket, answers.sync_error(ErrorCode.REBALANCE_IN_PROGRESS))
    group.members.pending_syncs.pop(body.member_id, None)
    if not group.members.pending_syncs:
        group.timers.cancel_sync()
    if group.state is State.STABLE:
        return reply(ticket, _synced(group, member.assignment))
    step = Step(replies=group.members.park_sync(member, ticket))
    if body.member_id == group.members.leader:
        return in_turn(step, _store(group, body, now))
    return step


def _check(group: ClassicGroup, body: m.SyncGroupRequest) -> ErrorCode:
    if group.state is State.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = group.check_member(body.member_id, body.group_instance_id)
    if code:
        return code
    if body.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    is_consistent = _is_consistent(body.protocol_type, group.protocol_type) and _is_consistent(
        body.protocol_name, group.protocol_name
    )
    return ErrorCode.NONE if is_consistent else ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def _is_consistent(said: str | None, known: str | None) -> bool:
    """Whether the member means the group's protocol, if it says one and the group has one."""
    return said is None or known is None or said == known


def _synced(group: ClassicGroup, assignment: bytes) -> m.SyncGroupResponse:
    return m.SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )


def _store(group: ClassicGroup, body: m.SyncGroupRequest, now: Now) -> Step:
    """With this record the group is Stable. A member that the leader left out gets nothing."""
    given = {each.member_id: each.assignment for each in body.assignments}
    waiting: list[tuple[Member, Ticket]] = []
    replies: list[Reply] = []
    for member in group.members:
        answer = _synced(group, given.get(member.member_id, b""))
        for each in group.members.answer_sync(member, answer):
            # While it waited, its session may have run out without effect.
            group.timers.set_session(member.member_id, member.session_timeout_ms, now)
            waiting.append((member, each.ticket))
            replies.append(each)

    def refused(code: ErrorCode, now: Now) -> Step:
        for member, ticket in waiting:
            group.members.park_sync(member, ticket)
        failed = rebalance.reset_assignments(group, code, now)
        return in_turn(Step(replies=failed), rebalance.prepare(group, now))

    record = group.record(group.members, given, group.members.leader)
    return Step([record], replies, refused)


def sync_time_is_up(group: ClassicGroup, now: Now) -> Step:
    """Members that joined and did not ask for their assignment are removed (KAFKA-12495)."""
    if group.state not in (State.COMPLETING, State.STABLE) or not group.members.pending_syncs:
        return Step()
    for member_id in list(group.members.pending_syncs):
        group.members.remove(member_id)  # none of its requests waits
        group.timers.cancel_session(member_id)
    return rebalance.prepare(group, now)
