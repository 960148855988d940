"""JoinGroup: becomes a member of a group, and waits until the others have joined as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.api.request import ELEMENTS_AT_ONCE, Request
from broker.groups.classic.answers import join_error
from broker.groups.group import GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITHOUT_EMPTY_NAME = 7


async def join_group(node: Node, request: Request[m.JoinGroupRequest]) -> m.JoinGroupResponse:
    body = request.body
    if body.group_id:
        answer = await _ask(node, request)
    else:
        answer = join_error(ErrorCode.INVALID_GROUP_ID, body.member_id)
    if answer.protocol_name is None and request.version < _FIRST_VERSION_WITHOUT_EMPTY_NAME:
        answer.protocol_name = ""
    if len(answer.members) > ELEMENTS_AT_ONCE:
        request.make_wide()
    return answer


async def _ask(node: Node, request: Request[m.JoinGroupRequest]) -> m.JoinGroupResponse:
    body, version, client = request.body, request.version, client_of(request)
    request.will_wait()
    try:
        answer: m.JoinGroupResponse = await node.groups.submit(
            body.group_id,
            lambda machine, ticket, now: machine.join_group(ticket, body, version, client, now),
        )
    except KafkaError as error:
        return join_error(error.code, body.member_id)
    return answer


def client_of(request: Request[Any]) -> GroupClient:
    return GroupClient(request.client_id or "", f"/{request.peer.host}")
