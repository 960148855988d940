"""SyncGroup: a member asks what the leader of its group has assigned to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.groups.classic.answers import sync_error
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_PROTOCOL = 5


async def sync_group(node: Node, request: Request[m.SyncGroupRequest]) -> m.SyncGroupResponse:
    body = request.body
    says_protocol = body.protocol_type is not None and body.protocol_name is not None
    if request.version >= _FIRST_VERSION_WITH_PROTOCOL and not says_protocol:
        return sync_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not body.group_id:
        return sync_error(ErrorCode.INVALID_GROUP_ID)
    request.will_wait()
    try:
        answer: m.SyncGroupResponse = await node.groups.submit(
            body.group_id, lambda machine, ticket, now: machine.sync_group(ticket, body, now)
        )
    except KafkaError as error:
        return sync_error(error.code)
    return answer
