"""FindCoordinator: which node coordinates a group or a transactional id; here it is this one."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from broker.api.request import Request, at_once_or_in_slices
from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_GROUP = 0
_TRANSACTION = 1
_FIRST_BATCHED_VERSION = 4


def find_coordinator(
    node: Node, request: Request[m.FindCoordinatorRequest]
) -> m.FindCoordinatorResponse | Coroutine[Any, Any, m.FindCoordinatorResponse]:
    return at_once_or_in_slices(request, _answer(node, request))


async def _answer(
    node: Node, request: Request[m.FindCoordinatorRequest]
) -> m.FindCoordinatorResponse:
    body = request.body
    address = node.address_for(request.listener)
    if request.version >= _FIRST_BATCHED_VERSION:
        coordinators = []
        for key in body.coordinator_keys:
            await request.pause()
            coordinators.append(_find(node, address, body.key_type, key))
        return m.FindCoordinatorResponse(error_message=None, coordinators=coordinators)
    found = _find(node, address, body.key_type, body.key)
    return m.FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(node: Node, address: Address, key_type: int, key: str) -> m.Coordinator:
    if key_type not in (_GROUP, _TRANSACTION):
        return m.Coordinator(
            key=key,
            node_id=-1,
            port=-1,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"no coordinator is of type {key_type} here",
        )
    return m.Coordinator(
        key=key,
        node_id=node.node_id,
        host=address.host,
        port=address.port,
        error_message=None,
    )
