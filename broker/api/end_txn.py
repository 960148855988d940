"""EndTxn: commits or aborts a transaction. The answer comes with the decision, before markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.api.transaction_codes import for_version
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.transaction import BUMPING, CLASSIC

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_FENCED = 2
_FIRST_VERSION_WITH_EPOCHS = 5
"""From it on the client gets a new epoch for its next transaction (KIP-890)."""


async def end_txn(node: Node, request: Request[m.EndTxnRequest]) -> m.EndTxnResponse:
    body = request.body
    if not body.transactional_id:
        return m.EndTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    version = BUMPING if request.version >= _FIRST_VERSION_WITH_EPOCHS else CLASSIC
    try:
        answer: m.EndTxnResponse = await node.transactions.submit_with_id(
            body.transactional_id,
            lambda machine, ticket, now, fresh_id: machine.end(
                ticket, body, version, fresh_id, now
            ),
        )
    except KafkaError as error:
        answer = m.EndTxnResponse(error_code=error.code)
    code = for_version(answer.error_code, request.version, _FIRST_VERSION_WITH_FENCED)
    answer.error_code = code
    return answer
