"""A classic group as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.groups.classic.state import State
from broker.groups.seen import SeenGroup, SeenMember

if TYPE_CHECKING:
    from broker.groups.classic.group import ClassicGroup


def seen_group(group: ClassicGroup) -> SeenGroup:
    """Which partitions members own is not told: only the clients know what they assigned."""
    return SeenGroup(
        group.group_id,
        group.kind.value,
        group.state_name,
        group.generation,
        tuple(
            SeenMember(each.member_id, each.instance_id, group.generation)
            for each in sorted(group.members, key=lambda member: member.member_id)
        ),
        _lasting(group),
    )


def _lasting(group: ClassicGroup) -> str:
    """While a rebalance goes on, the members are not those of the last record."""
    stored = group.stored
    if stored is None:
        return ""
    if group.state in (State.PREPARING, State.COMPLETING):
        generation, leader = stored.generation, stored.leader
        protocol_type, protocol = stored.protocol_type, stored.protocol
        members = [
            (each.member_id, each.group_instance_id, each.subscription, each.assignment)
            for each in stored.members
        ]
    else:
        generation, leader = group.generation, group.members.leader
        protocol_type, protocol = group.protocol_type or "", group.protocol_name
        members = [
            (each.member_id, each.instance_id, each.metadata(protocol), each.assignment)
            for each in group.members
        ]
    return repr((generation, protocol_type, protocol, leader, sorted(members)))
