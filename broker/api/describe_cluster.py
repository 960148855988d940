"""DescribeCluster: the cluster's id and its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.cluster_view import Reachable, brokers_for, controller_for, controllers_for
from broker.api.operations import CLUSTER_OPERATIONS, NOT_ASKED
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_BROKERS = 1
_CONTROLLERS = 2
_NO_NODE = -1


def describe_cluster(
    node: Node, request: Request[m.DescribeClusterRequest]
) -> m.DescribeClusterResponse:
    """Its brokers, for clients that came by a listener for clients."""
    refusal = _refusal(request.body.endpoint_type, _BROKERS)
    return refusal or _description(
        node,
        request.body,
        controller_id=controller_for(node),
        members=brokers_for(node, request.listener),
    )


def describe_controllers(
    node: Node, request: Request[m.DescribeClusterRequest]
) -> m.DescribeClusterResponse:
    """The voters of the quorum, for tools with `--bootstrap-controller` (KIP-919)."""
    leader = node.quorum.leader_id
    refusal = _refusal(request.body.endpoint_type, _CONTROLLERS)
    return refusal or _description(
        node,
        request.body,
        controller_id=_NO_NODE if leader is None else leader,
        members=controllers_for(node, request.listener),
    )


def _refusal(asked: int, served: int) -> m.DescribeClusterResponse | None:
    if asked == served:
        return None
    is_known = asked in (_BROKERS, _CONTROLLERS)
    here, there = ("brokers", "controllers") if served == _BROKERS else ("controllers", "brokers")
    return m.DescribeClusterResponse(
        error_code=(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        ),
        error_message=f"this listener knows the endpoints of {here}, not those of {there}"
        if is_known
        else f"no endpoints are of type {asked}",
    )


def _description(
    node: Node, body: m.DescribeClusterRequest, *, controller_id: int, members: list[Reachable]
) -> m.DescribeClusterResponse:
    return m.DescribeClusterResponse(
        error_message=None,
        endpoint_type=body.endpoint_type,
        cluster_id=node.cluster_id,
        controller_id=controller_id,
        brokers=[
            m.DescribeClusterBroker(
                broker_id=each.node_id, host=each.host, port=each.port, rack=each.rack
            )
            for each in members
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if body.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
