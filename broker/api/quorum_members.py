"""What controllers and brokers ask of the quorum: votes, epochs, its log, its snapshots."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from broker.api.request import CloseConnectionError, Request
from broker.protocol import messages as m
from broker.quorum import serving
from broker.quorum.quorum import QuorumStoppedError

if TYPE_CHECKING:
    from broker.node import Node


_Answer = TypeVar("_Answer")


async def _or_nothing(answer: Awaitable[_Answer]) -> _Answer:
    """A node that takes no part any more is best taken for one that is gone."""
    try:
        return await answer
    except QuorumStoppedError as problem:
        raise CloseConnectionError(str(problem)) from problem


async def vote(node: Node, request: Request[m.VoteRequest]) -> m.VoteResponse:
    return await _or_nothing(serving.vote(node.quorum, request.body))


async def begin_quorum_epoch(
    node: Node, request: Request[m.BeginQuorumEpochRequest]
) -> m.BeginQuorumEpochResponse:
    return await _or_nothing(serving.begin_epoch(node.quorum, request.body))


async def end_quorum_epoch(
    node: Node, request: Request[m.EndQuorumEpochRequest]
) -> m.EndQuorumEpochResponse:
    return await _or_nothing(serving.end_epoch(node.quorum, request.body))


async def fetch_metadata_log(node: Node, request: Request[m.FetchRequest]) -> m.FetchResponse:
    return await _or_nothing(serving.fetch(node.quorum, request.body))


async def fetch_snapshot(
    node: Node, request: Request[m.FetchSnapshotRequest]
) -> m.FetchSnapshotResponse:
    return await _or_nothing(serving.fetch_snapshot(node.quorum, request.body))


def describe_quorum_here(
    node: Node, request: Request[m.DescribeQuorumRequest]
) -> m.DescribeQuorumResponse:
    answer = serving.describe(node.quorum, node.world.clock)
    answer.nodes = [
        m.Node(
            node_id=voter.node_id,
            listeners=[
                m.DescribeQuorumResponseListener(
                    name=name, host=voter.address.host, port=voter.address.port
                )
                for name in node.config.controller_listener_names[:1]
            ],
        )
        for voter in node.config.controller_quorum_voters
    ]
    return answer
