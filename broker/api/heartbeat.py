"""Heartbeat: a member of a group lives, and learns whether it has to join again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.later import Later, known, reply_of_group
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


def heartbeat(node: Node, request: Request[m.HeartbeatRequest]) -> Later[m.HeartbeatResponse]:
    body = request.body
    if not body.group_id:
        return known(m.HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID))
    return reply_of_group(
        node,
        body.group_id,
        lambda machine, ticket, now: machine.heartbeat(ticket, body, now),
        _failed,
    )


def _failed(error: KafkaError) -> m.HeartbeatResponse:
    # All sessions begin anew when the coordinator is loaded, so until then nothing is wrong.
    is_loading = error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return m.HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)
