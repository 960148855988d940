"""Heartbeat: a member of a group lives, and learns whether it has to join again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def heartbeat(node: Node, request: Request[m.HeartbeatRequest]) -> m.HeartbeatResponse:
    body = request.body
    if not body.group_id:
        return m.HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    try:
        answer: m.HeartbeatResponse = await node.groups.submit(
            body.group_id, lambda machine, ticket, now: machine.heartbeat(ticket, body, now)
        )
    except KafkaError as error:
        # All sessions begin anew when the coordinator is loaded, so until then nothing is wrong.
        is_loading = error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return m.HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)
    return answer
