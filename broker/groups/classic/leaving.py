"""LeaveGroup: members that go, and static members that are sent away by their instance id."""

from __future__ import annotations

from broker.coordination.step import Now, Reply, Step, Ticket, in_turn
from broker.groups.classic import answers, rebalance
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.state import State
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_UNKNOWN = ""


def leave(group: ClassicGroup, ticket: Ticket, body: m.LeaveGroupRequest, now: Now) -> Step:
    """Any number of members at once, and one rebalance for all of them."""
    step = Step()
    results: list[m.MemberResponse] = []
    for leaver in body.members:
        code, member_id = _find(group, leaver)
        if not code:
            step.replies += group.members.remove(member_id)
            group.timers.cancel_session(member_id)
        results.append(_result(leaver, code))
    if any(not each.error_code for each in results) and group.state is not State.EMPTY:
        step = in_turn(step, rebalance.prepare_or_go_on(group, now))
    return in_turn(step, _answer(ticket, results, is_stored=bool(step.records)))


def nobody_left(body: m.LeaveGroupRequest) -> m.LeaveGroupResponse:
    """There is no such group."""
    code = ErrorCode.UNKNOWN_MEMBER_ID
    return m.LeaveGroupResponse(members=[_result(leaver, code) for leaver in body.members])


def _result(leaver: m.MemberIdentity, code: ErrorCode) -> m.MemberResponse:
    return m.MemberResponse(
        member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=code
    )


def _find(group: ClassicGroup, leaver: m.MemberIdentity) -> tuple[ErrorCode, str]:
    """The member's id. An administrator knows only the instance id of a static member."""
    if leaver.member_id == _UNKNOWN:
        member_id = group.members.static_id(leaver.group_instance_id)
        if member_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID, _UNKNOWN
        return ErrorCode.NONE, member_id
    if leaver.member_id in group.members.pending_joins:
        return ErrorCode.NONE, leaver.member_id
    return group.check_member(leaver.member_id, leaver.group_instance_id), leaver.member_id


def _answer(ticket: Ticket, results: list[m.MemberResponse], *, is_stored: bool) -> Step:
    def refused(code: ErrorCode, now: Now) -> Step:
        return Step(replies=[Reply(ticket, answers.leave_error(code))])

    response = m.LeaveGroupResponse(members=results)
    return Step(replies=[Reply(ticket, response)], refused=refused if is_stored else None)
