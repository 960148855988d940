"""Answers about members of groups, which this broker does not coordinate yet.

The APIs that need a coordinator are not advertised, so that clients give their own clear error.
Clients that ask without looking (kafka-python with `api_version`) get UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_REFUSAL = ErrorCode.UNSUPPORTED_VERSION


# Not advertised: see the head of this file.


def join_group(node: Node, request: Request[m.JoinGroupRequest]) -> m.JoinGroupResponse:
    member_id = request.body.member_id
    return m.JoinGroupResponse(
        error_code=_REFUSAL, protocol_name="", leader="", member_id=member_id, members=[]
    )


def sync_group(node: Node, request: Request[m.SyncGroupRequest]) -> m.SyncGroupResponse:
    return m.SyncGroupResponse(error_code=_REFUSAL, assignment=b"")


def heartbeat(node: Node, request: Request[m.HeartbeatRequest]) -> m.HeartbeatResponse:
    return m.HeartbeatResponse(error_code=_REFUSAL)


def leave_group(node: Node, request: Request[m.LeaveGroupRequest]) -> m.LeaveGroupResponse:
    return m.LeaveGroupResponse(error_code=_REFUSAL, members=[])
