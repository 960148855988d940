"""The bodies of responses. Handlers adapt them to the version of the request."""

from __future__ import annotations

from collections.abc import Iterable

from broker.groups.classic.member import Member
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode


def join_error(code: ErrorCode, member_id: str) -> m.JoinGroupResponse:
    return m.JoinGroupResponse(
        error_code=code, protocol_name=None, leader="", member_id=member_id, members=[]
    )


def sync_error(code: ErrorCode) -> m.SyncGroupResponse:
    return m.SyncGroupResponse(error_code=code, assignment=b"")


def leave_error(code: ErrorCode) -> m.LeaveGroupResponse:
    return m.LeaveGroupResponse(error_code=code, members=[])


def members_joined(
    members: Iterable[Member], protocol: str | None
) -> list[m.JoinGroupResponseMember]:
    """What the leader assigns partitions by."""
    return [
        m.JoinGroupResponseMember(
            member_id=each.member_id,
            group_instance_id=each.instance_id,
            metadata=each.metadata(protocol),
        )
        for each in members
    ]
