"""A rebalance: everybody joins, one of them becomes the leader, a generation begins.

It takes place when somebody comes, goes or changes. All members have to send JoinGroup then, within
the longest rebalance timeout of them; who does not is removed. A rebalance of an empty group waits
a while for more members instead, and a little longer when one comes.
"""

from __future__ import annotations

from broker.coordination.step import Now, Reply, Step, in_turn
from broker.groups.classic import answers
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.member import Member
from broker.groups.classic.state import State
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_GENERATIONS = 2**32
_SMALLEST_GENERATION = -(2**31)


def prepare_or_go_on(group: ClassicGroup, now: Now) -> Step:
    """Begins a rebalance; if there is one, ends its first part when everybody has joined."""
    if group.state is not State.PREPARING:
        return prepare(group, now)
    return go_on(group, now)


def go_on(group: ClassicGroup, now: Now) -> Step:
    """Ends the first part of a rebalance when everybody has joined."""
    if group.state is not State.PREPARING or group.initial_delay_ms is not None:
        return Step()
    return complete(group, now) if group.members.have_all_joined else Step()


def prepare(group: ClassicGroup, now: Now) -> Step:
    """Begins a rebalance of a group that is in any other state than PreparingRebalance."""
    step = Step()
    if group.state is State.COMPLETING:
        step = Step(replies=reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS, now))
    group.members.pending_syncs.clear()
    group.timers.cancel_sync()
    is_initial = group.state is State.EMPTY
    group.enter(State.PREPARING, now)
    if is_initial:
        _wait_for_members(group, now)
        return step
    if group.members.have_all_joined:
        return in_turn(step, complete(group, now))
    group.timers.set_join(group.members.rebalance_timeout_ms(), now)
    return step


def reset_assignments(group: ClassicGroup, code: ErrorCode, now: Now) -> list[Reply]:
    """Nothing comes of the assignment that members wait for."""
    replies: list[Reply] = []
    for member in group.members:
        member.assignment = b""
        answered = group.members.answer_sync(member, answers.sync_error(code))
        if answered:
            # While it waited, its session may have run out without effect.
            group.timers.set_session(member.member_id, member.session_timeout_ms, now)
            replies += answered
    return replies


# An empty group


def _wait_for_members(group: ClassicGroup, now: Now) -> None:
    delay_ms = group.context.settings.group_initial_rebalance_delay_ms
    left_ms = max(group.members.rebalance_timeout_ms() - delay_ms, 0)
    group.initial_delay_ms = delay_ms, left_ms
    group.member_came = False
    group.timers.set_join(delay_ms, now)


def join_time_is_up(group: ClassicGroup, now: Now) -> Step:
    """The timer of PreparingRebalance has come up."""
    if group.state is not State.PREPARING:
        return Step()
    if group.initial_delay_ms is not None and group.member_came:
        delay_ms, left_ms = group.initial_delay_ms
        if left_ms > 0:
            next_ms = min(group.context.settings.group_initial_rebalance_delay_ms, left_ms)
            group.initial_delay_ms = next_ms, max(left_ms - delay_ms, 0)
            group.member_came = False
            group.timers.set_join(next_ms, now)
            return Step()
    return complete(group, now)


# The end of PreparingRebalance


def complete(group: ClassicGroup, now: Now) -> Step:
    """Whoever has joined is a member of the next generation."""
    group.timers.cancel_join()
    group.initial_delay_ms = None
    members = group.members
    for member in [each for each in members if each.join is None and each.instance_id is None]:
        # None of its requests waits: it has not joined, and nobody syncs in this state.
        members.remove(member.member_id)
        group.timers.cancel_session(member.member_id)
    if not members:
        return _become_empty(group, now)
    if not _elect_leader(group):
        # Only static members are left, and none has come. Their sessions decide about them.
        group.timers.set_join(members.rebalance_timeout_ms(), now)
        return Step()
    return Step(replies=_begin_generation(group, now))


def _become_empty(group: ClassicGroup, now: Now) -> Step:
    generation = _next_generation(group.generation)

    def refused(code: ErrorCode, now: Now) -> Step:
        """The group is empty all the same. The next coordinator may find the generation before
        this one, whose members will not come back, and remove them by their sessions."""
        group.is_unwritten = True
        group.generation, group.protocol_name = generation, None
        group.enter(State.EMPTY, now)
        group.note_subscriptions()
        return Step()

    return Step([group.empty_record(generation, now)], refused=refused)


def _elect_leader(group: ClassicGroup) -> bool:
    """The leader stays if it has joined. Returns False if nobody has."""
    members = group.members
    leader = None if members.leader is None else members.get(members.leader)
    if leader is not None and leader.join is not None:
        return True
    joined_id = next((each.member_id for each in members if each.join is not None), None)
    if joined_id is not None:
        members.leader = joined_id
    return joined_id is not None


def _begin_generation(group: ClassicGroup, now: Now) -> list[Reply]:
    group.generation = _next_generation(group.generation)
    group.protocol_name = group.members.elect_protocol()
    group.note_subscriptions()
    group.enter(State.COMPLETING, now)
    replies: list[Reply] = []
    for member in group.members:
        replies += group.members.answer_join(member, joined(group, member))
        member.is_new = False
        group.timers.set_session(member.member_id, member.session_timeout_ms, now)
        group.members.pending_syncs[member.member_id] = None
    group.timers.set_sync(group.members.rebalance_timeout_ms(), now)
    return replies


def joined(group: ClassicGroup, member: Member) -> m.JoinGroupResponse:
    """What a member learns about the present generation: only the leader learns about all."""
    is_leader = member.member_id == group.members.leader
    return m.JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.members.leader or "",
        member_id=member.member_id,
        members=answers.members_joined(group.members, group.protocol_name) if is_leader else [],
    )


def _next_generation(generation: int) -> int:
    """The field has 32 bits: after the largest number comes the smallest, as in Java."""
    return (generation + 1 - _SMALLEST_GENERATION) % _GENERATIONS + _SMALLEST_GENERATION
