"""ListTransactions: the transactional ids that this node coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import ELEMENTS_AT_ONCE, Request
from broker.coordination.keyed_shards import reply_of
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.listing import filter_of, unknown_states

if TYPE_CHECKING:
    from broker.node import Node


async def list_transactions(
    node: Node, request: Request[m.ListTransactionsRequest]
) -> m.ListTransactionsResponse:
    """A node that is still loading says so: a list without those ids would look complete."""
    try:
        is_listed = filter_of(request.body)
    except KafkaError as error:
        return m.ListTransactionsResponse(
            error_code=error.code, unknown_state_filters=[], transaction_states=[]
        )
    asked = node.transactions.by_id.ask_all(
        lambda machine, ticket, now: machine.list_transactions(ticket, is_listed, now)
    )
    found: list[m.ListTransactionsResponseTransactionState] = []
    code = ErrorCode.NONE
    for each in asked:
        try:
            found += await reply_of(each)
        except KafkaError as error:
            if error.code != ErrorCode.NOT_COORDINATOR:
                code = error.code
        await request.pause()
    if len(found) > ELEMENTS_AT_ONCE:
        request.make_wide()
    return m.ListTransactionsResponse(
        error_code=code,
        unknown_state_filters=[] if code else unknown_states(request.body.state_filters),
        transaction_states=[] if code else found,
    )
