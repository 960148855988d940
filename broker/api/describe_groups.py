"""DescribeGroups: classic groups, with their members."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from broker.api.operations import GROUP_OPERATIONS
from broker.api.portions import answered_in_portions
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def describe_groups(
    node: Node, request: Request[m.DescribeGroupsRequest]
) -> m.DescribeGroupsResponse:
    groups: list[m.DescribeGroupsResponseDescribedGroup] = []

    def ask(group_id: str) -> asyncio.Future[Any]:
        return _ask(node, group_id, request.version)

    async for group_id, described in answered_in_portions(request, request.body.groups, ask):
        if isinstance(described, KafkaError):
            described = m.DescribeGroupsResponseDescribedGroup(
                error_code=described.code,
                error_message=request.explain(described),
                group_id=group_id,
                members=[],
            )
        if request.body.include_authorized_operations and described.error_code == ErrorCode.NONE:
            described.authorized_operations = GROUP_OPERATIONS
        groups.append(described)
    return m.DescribeGroupsResponse(groups=groups)


def _ask(node: Node, group_id: str, version: int) -> asyncio.Future[Any]:
    return node.groups.ask(
        group_id, lambda machine, ticket, now: machine.describe_group(ticket, group_id, version)
    )
