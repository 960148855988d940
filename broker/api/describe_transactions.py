"""DescribeTransactions: the state of transactional ids that this node coordinates."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from broker.api.portions import answered_in_portions
from broker.api.request import Request
from broker.coordination.keyed_shards import answered
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.listing import description_failed

if TYPE_CHECKING:
    from broker.node import Node


async def describe_transactions(
    node: Node, request: Request[m.DescribeTransactionsRequest]
) -> m.DescribeTransactionsResponse:
    states: list[m.DescribeTransactionsResponseTransactionState] = []
    ids, ask = request.body.transactional_ids, partial(_ask, node)
    async for transactional_id, described in answered_in_portions(request, ids, ask):
        if isinstance(described, KafkaError):
            described = description_failed(transactional_id, described.code)
        states.append(described)
    return m.DescribeTransactionsResponse(transaction_states=states)


def _ask(node: Node, transactional_id: str) -> asyncio.Future[Any]:
    if not transactional_id:
        return answered(KafkaError(ErrorCode.INVALID_REQUEST))
    return node.transactions.by_id.ask(
        transactional_id,
        lambda machine, ticket, _: machine.describe_transaction(ticket, transactional_id),
    )
