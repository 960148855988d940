"""DescribeCluster: the cluster's id and its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.cluster_view import brokers_for, controller_for
from broker.api.operations import CLUSTER_OPERATIONS, NOT_ASKED
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_BROKERS = 1
_CONTROLLERS = 2


def describe_cluster(
    node: Node, request: Request[m.DescribeClusterRequest]
) -> m.DescribeClusterResponse:
    body = request.body
    if body.endpoint_type != _BROKERS:
        known = body.endpoint_type == _CONTROLLERS
        return m.DescribeClusterResponse(
            error_code=(
                ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            ),
            error_message="this listener serves brokers' endpoints only",
        )
    return m.DescribeClusterResponse(
        error_message=None,
        endpoint_type=_BROKERS,
        cluster_id=node.cluster_id,
        controller_id=controller_for(node),
        brokers=[
            m.DescribeClusterBroker(
                broker_id=each.node_id, host=each.host, port=each.port, rack=each.rack
            )
            for each in brokers_for(node, request.listener)
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if body.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
