"""Heartbeats, and members whose heartbeats stay away."""

from __future__ import annotations

from broker.coordination.step import Now, Step, Ticket, in_turn, reply
from broker.groups.classic import rebalance
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.state import State
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode


def heartbeat(group: ClassicGroup, ticket: Ticket, body: m.HeartbeatRequest, now: Now) -> Step:
    code = group.check_member(body.member_id, body.group_instance_id)
    member = group.members.get(body.member_id)
    if not code and body.generation_id != group.generation:
        code = ErrorCode.ILLEGAL_GENERATION
    if not code and member is not None:
        group.timers.set_session(member.member_id, member.session_timeout_ms, now)
        if group.state is State.PREPARING:
            code = ErrorCode.REBALANCE_IN_PROGRESS
    return reply(ticket, m.HeartbeatResponse(error_code=code))


def session_is_over(group: ClassicGroup, member_id: str, now: Now) -> Step:
    if member_id in group.members.pending_joins:
        group.members.remove(member_id)
        return _goes_on_without(group, now)
    member = group.members.get(member_id)
    if member is None or member.keeps_its_session:
        return Step()
    step = Step(replies=group.members.remove(member_id))
    if group.state is State.PREPARING:
        return in_turn(step, _goes_on_without(group, now))
    return in_turn(step, rebalance.prepare(group, now))


def _goes_on_without(group: ClassicGroup, now: Now) -> Step:
    """Whoever was waited for does not come. An initial rebalance ends at once, too, as in Kafka."""
    if group.state is State.PREPARING and group.members.have_all_joined:
        return rebalance.complete(group, now)
    return Step()


def restart_sessions(group: ClassicGroup, now: Now) -> Step:
    """The group was loaded. How long its members have been silent is not known."""
    for member in group.members:
        group.timers.set_session(member.member_id, member.session_timeout_ms, now)
    if len(group.members) > group.context.settings.group_max_size:
        return rebalance.prepare(group, now)  # the setting was reduced; who comes last goes
    return Step()
