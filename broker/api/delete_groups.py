"""DeleteGroups: groups without members, and their offsets."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from broker.api.portions import answered_in_portions
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def delete_groups(
    node: Node, request: Request[m.DeleteGroupsRequest]
) -> m.DeleteGroupsResponse:
    """A group that is named twice is deleted once, and answered once, as in Kafka."""
    names = list(dict.fromkeys(request.body.groups_names))
    results: list[m.DeletableGroupResult] = []
    async for group_id, reply in answered_in_portions(request, names, partial(_ask, node)):
        code = reply.code if isinstance(reply, KafkaError) else reply
        results.append(m.DeletableGroupResult(group_id=group_id, error_code=code))
    return m.DeleteGroupsResponse(results=results)


def _ask(node: Node, group_id: str) -> asyncio.Future[Any]:
    return node.groups.ask(
        group_id, lambda machine, ticket, now: machine.delete_group(ticket, group_id)
    )
