"""InitProducerId: gives a producer its identity, and takes it from the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.api.transaction_codes import for_version
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.initialising import Asked
from broker.transactions.machine import init_failed
from broker.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_FENCED = 4


async def init_producer_id(
    node: Node, request: Request[m.InitProducerIdRequest]
) -> m.InitProducerIdResponse:
    body = request.body
    if (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_EPOCH):
        # An id and its epoch come together, or not at all (KIP-360).
        return init_failed(ErrorCode.INVALID_REQUEST)
    if body.transactional_id is None:
        return await _idempotent(node)
    if not body.transactional_id:
        return init_failed(ErrorCode.INVALID_REQUEST)
    answer = await _transactional(node, body, body.transactional_id)
    code = for_version(answer.error_code, request.version, _FIRST_VERSION_WITH_FENCED)
    answer.error_code = code
    return answer


async def _idempotent(node: Node) -> m.InitProducerIdResponse:
    try:
        producer_id = await node.producer_ids.next()
    except UnansweredError:
        return init_failed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return m.InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


async def _transactional(
    node: Node, body: m.InitProducerIdRequest, transactional_id: str
) -> m.InitProducerIdResponse:
    is_new = body.producer_id == NO_PRODUCER_ID

    def asked(fresh_id: int | None) -> Asked:
        return Asked(
            transactional_id=transactional_id,
            timeout_ms=body.transaction_timeout_ms,
            expected=None if is_new else (body.producer_id, body.producer_epoch),
            fresh_id=fresh_id,
        )

    try:
        answer: m.InitProducerIdResponse = await node.transactions.submit_with_id(
            transactional_id,
            lambda machine, ticket, now, fresh_id: machine.init_producer_id(
                ticket, asked(fresh_id), now
            ),
        )
    except KafkaError as error:
        return init_failed(error.code)
    return answer
