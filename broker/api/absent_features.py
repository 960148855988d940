"""Answers for what this broker does not have, where Kafka's tools ask before they go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node


def describe_acls(node: Node, request: Request[m.DescribeAclsRequest]) -> m.DescribeAclsResponse:
    return m.DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="no authorizer is configured"
    )
