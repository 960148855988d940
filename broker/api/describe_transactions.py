"""DescribeTransactions: the state of transactional ids that this node coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.coordination.keyed_shards import reply_of
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.listing import description_failed

if TYPE_CHECKING:
    from broker.node import Node


async def describe_transactions(
    node: Node, request: Request[m.DescribeTransactionsRequest]
) -> m.DescribeTransactionsResponse:
    states: list[m.DescribeTransactionsResponseTransactionState] = []
    for each in request.body.transactional_ids:
        await request.pause()
        states.append(await _described(node, each))
    return m.DescribeTransactionsResponse(transaction_states=states)


async def _described(
    node: Node, transactional_id: str
) -> m.DescribeTransactionsResponseTransactionState:
    if not transactional_id:
        return description_failed(transactional_id, ErrorCode.INVALID_REQUEST)
    try:
        found: m.DescribeTransactionsResponseTransactionState = await reply_of(
            node.transactions.by_id.ask(
                transactional_id,
                lambda machine, ticket, _: machine.describe_transaction(ticket, transactional_id),
            )
        )
    except KafkaError as error:
        return description_failed(transactional_id, error.code)
    return found
