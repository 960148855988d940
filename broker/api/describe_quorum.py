"""DescribeQuorum: who leads the metadata quorum, and how far each member is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node


async def describe_quorum(
    node: Node, request: Request[m.DescribeQuorumRequest]
) -> m.DescribeQuorumResponse:
    """Only the leader knows. A broker asks it."""
    timeout_s = node.config.controller_quorum_request_timeout_ms / 1000
    try:
        answer: m.DescribeQuorumResponse = await node.forwarding.ask(
            ApiKey.DESCRIBE_QUORUM, request.body, timeout_s=timeout_s
        )
    except UnansweredError as problem:
        return m.DescribeQuorumResponse(
            error_code=ErrorCode.LEADER_NOT_AVAILABLE, error_message=str(problem), topics=[]
        )
    return answer
