"""LeaveGroup: members go without waiting for the end of their sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import ELEMENTS_AT_ONCE, Request
from broker.groups.classic.answers import leave_error
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_BATCHED_VERSION = 3


async def leave_group(node: Node, request: Request[m.LeaveGroupRequest]) -> m.LeaveGroupResponse:
    body = request.body
    if not body.group_id:
        return leave_error(ErrorCode.INVALID_GROUP_ID)
    is_batched = request.version >= _FIRST_BATCHED_VERSION
    if not is_batched:
        body.members = [m.MemberIdentity(member_id=body.member_id)]
    request.will_wait()
    answer = await _leave_in_slices(node, body)
    if not is_batched and not answer.error_code:
        answer.error_code = answer.members[0].error_code
    return answer


async def _leave_in_slices(node: Node, body: m.LeaveGroupRequest) -> m.LeaveGroupResponse:
    """No step of the coordinator takes long. Those that left in earlier slices have left, even if
    a later one fails: whoever asks again is told that they are not known."""
    whole = m.LeaveGroupResponse(members=[])
    for first in range(0, max(len(body.members), 1), ELEMENTS_AT_ONCE):
        members = body.members[first : first + ELEMENTS_AT_ONCE]
        part = m.LeaveGroupRequest(group_id=body.group_id, members=members)
        try:
            answer = await _leave(node, part)
        except KafkaError as error:
            return leave_error(error.code)
        if answer.error_code:
            return answer
        whole.members += answer.members
    return whole


async def _leave(node: Node, body: m.LeaveGroupRequest) -> m.LeaveGroupResponse:
    answer: m.LeaveGroupResponse = await node.groups.submit(
        body.group_id, lambda machine, ticket, now: machine.leave_group(ticket, body, now)
    )
    return answer
