"""InitProducerId: gives an idempotent producer its identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node


async def init_producer_id(
    node: Node, request: Request[m.InitProducerIdRequest]
) -> m.InitProducerIdResponse:
    if request.body.transactional_id is not None:
        # Of all codes only this one ends a transactional producer in every client; librdkafka
        # retries the others for ever. Its name says something else, so the log says what is meant.
        node.server.lines.warning(
            request.peer.host,
            "%s: transactional.id %.200r is refused: transactions are not served yet",
            request.peer,
            request.body.transactional_id,
        )
        refusal = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if not request.body.transactional_id:
            refusal = ErrorCode.INVALID_REQUEST
        return m.InitProducerIdResponse(error_code=refusal, producer_id=-1, producer_epoch=-1)
    if (request.body.producer_id < 0) != (request.body.producer_epoch < 0):
        # An id and its epoch come together, or not at all (KIP-360).
        return m.InitProducerIdResponse(
            error_code=ErrorCode.INVALID_REQUEST, producer_id=-1, producer_epoch=-1
        )
    try:
        producer_id = await node.producer_ids.next()
    except UnansweredError:
        return m.InitProducerIdResponse(
            error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_id=-1, producer_epoch=-1
        )
    return m.InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
