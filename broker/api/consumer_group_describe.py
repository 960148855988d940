"""ConsumerGroupDescribe: groups of the new protocol, with their epochs and assignments."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from broker.api.operations import GROUP_OPERATIONS
from broker.api.portions import answered_in_portions
from broker.api.request import ELEMENTS_AT_ONCE, Request
from broker.coordination.keyed_shards import answered
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def consumer_group_describe(
    node: Node, request: Request[m.ConsumerGroupDescribeRequest]
) -> m.ConsumerGroupDescribeResponse:
    groups: list[m.ConsumerGroupDescribeResponseDescribedGroup] = []
    ask = partial(_ask, node)
    async for group_id, described in answered_in_portions(request, request.body.group_ids, ask):
        if isinstance(described, KafkaError):
            described = m.ConsumerGroupDescribeResponseDescribedGroup(
                error_code=described.code,
                error_message=request.explain(described),
                group_id=group_id,
            )
        if request.body.include_authorized_operations and described.error_code == ErrorCode.NONE:
            described.authorized_operations = GROUP_OPERATIONS
        groups.append(described)
    if sum(len(group.members) for group in groups) > ELEMENTS_AT_ONCE:
        request.make_wide()
    return m.ConsumerGroupDescribeResponse(groups=groups)


def _ask(node: Node, group_id: str) -> asyncio.Future[Any]:
    if not group_id:
        return answered(KafkaError(ErrorCode.INVALID_GROUP_ID))
    return node.groups.ask(
        group_id, lambda machine, ticket, now: machine.describe_consumer_group(ticket, group_id)
    )
