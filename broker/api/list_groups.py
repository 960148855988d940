"""ListGroups: the groups that this node coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.coordination.keyed_shards import reply_of
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def list_groups(node: Node, request: Request[m.ListGroupsRequest]) -> m.ListGroupsResponse:
    """A node that is still loading groups says so: a list without them would look complete."""
    body = request.body
    states, types = body.states_filter, body.types_filter
    asked = node.groups.ask_all(
        lambda machine, ticket, now: machine.list_groups(ticket, states, types)
    )
    groups: list[m.ListedGroup] = []
    code = ErrorCode.NONE
    for each in asked:
        try:
            groups += await reply_of(each)
        except KafkaError as error:
            if error.code != ErrorCode.NOT_COORDINATOR:
                code = error.code
        await request.pause()
    return m.ListGroupsResponse(error_code=code, groups=[] if code else groups)
