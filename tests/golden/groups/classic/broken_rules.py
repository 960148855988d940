"""Rules of classic groups, each broken in one way, for the stories to catch.

An entry replaces one attribute: what owns it, its name, and what stands there instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker.coordination.step import Now, Reply, Step, reply
from broker.groups import offset_expiry
from broker.groups.classic import answers, joining, rebalance, sessions, syncing
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.member import Member
from broker.groups.classic.membership import Membership
from broker.groups.classic.state import State
from broker.groups.classic.timers import GroupTimers
from broker.groups.group import Group
from broker.groups.offsets import CommittedOffset
from broker.groups.settings import GroupSettings
from broker.protocol.errors import ErrorCode


@dataclass(frozen=True)
class BrokenRule:
    story: str
    owner: Any
    name: str
    instead: Any


def _commits_of_strangers(group: ClassicGroup, member_id: str, *rest: Any) -> ErrorCode:
    if member_id and member_id not in group.members:
        return ErrorCode.NONE
    return _check_commit(group, member_id, *rest)


def _commits_of_any_generation(
    group: ClassicGroup, member_id: str, instance_id: str | None, *rest: Any
) -> ErrorCode:
    return group.check_member(member_id, instance_id)


def _commits_before_the_assignment(group: ClassicGroup, *rest: Any) -> ErrorCode:
    code = _check_commit(group, *rest)
    return ErrorCode.NONE if code == ErrorCode.REBALANCE_IN_PROGRESS else code


def _ignores_instances(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    known = member_id in group.members or group.members.static_id(instance_id)
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_MEMBER_ID


def _replaces_silently(members: Membership, old: Member, new: Member) -> list[Reply]:
    members.answer_join(old, answers.join_error(ErrorCode.NONE, ""))
    return _replace(members, old, new)


def _replaces_without_rebalance(group: ClassicGroup, *rest: Any) -> Step:
    if group.state is State.COMPLETING:
        ticket, _, old, new, _ = rest
        group.members.replace(old, new)
        return reply(ticket, rebalance.joined(group, new))
    return _replace_static(group, *rest)


def _sends_late_static_members_away(group: ClassicGroup, now: Now) -> Step:
    for member in [each for each in group.members if each.join is None]:
        group.members.remove(member.member_id)
    return _complete(group, now)


def _delays_once(group: ClassicGroup, now: Now) -> Step:
    group.member_came = False
    return _join_time_is_up(group, now)


def _prefers_the_first(members: Membership, arriving: Member | None = None) -> str | None:
    return next(iter(members)).protocols[0][0]


def _counts_members(group: ClassicGroup, member_id: str) -> bool:
    most = group.context.settings.group_max_size
    return member_id in group.members or len(group.members) < most


def _loads_without_assignments(group: ClassicGroup, stored: Any, protocol: str) -> Member:
    member = _stored_member(group, stored, protocol)
    member.assignment = b""
    return member


def _store_as_if(group: ClassicGroup, *rest: Any) -> Step:
    step = _store(group, *rest)
    return Step(step.records, step.replies, lambda code, now: Step(replies=step.replies))


def _expires_after_the_commit(
    group: Group | None, committed: CommittedOffset, settings: GroupSettings, now: Now
) -> bool:
    since_ms = committed.commit_timestamp_ms
    return now.wall_ms >= committed.expires_at_ms(since_ms, settings.offsets_retention_ms)


_check_commit = ClassicGroup.check_commit
_stored_member = ClassicGroup._stored_member
_replace = Membership.replace
_replace_static = joining._replace
_complete = rebalance.complete
_join_time_is_up = rebalance.join_time_is_up
_store = syncing._store


def _nothing(*_: Any) -> None:
    pass


BROKEN = {
    "offsets of empty groups expire early": BrokenRule(
        "g01_offsets_of_a_live_group_do_not_expire",
        offset_expiry,
        "_has_expired",
        _expires_after_the_commit,
    ),
    "offsets of live groups expire": BrokenRule(
        "g01_offsets_of_a_live_group_do_not_expire",
        ClassicGroup,
        "offsets_expire_from_ms",
        lambda group, commit_timestamp_ms: commit_timestamp_ms,
    ),
    "commits of strangers": BrokenRule(
        "g05_a_commit_of_a_member_that_was_thrown_out",
        ClassicGroup,
        "check_commit",
        _commits_of_strangers,
    ),
    "commits of any generation": BrokenRule(
        "g05_a_commit_of_a_stale_generation",
        ClassicGroup,
        "check_commit",
        _commits_of_any_generation,
    ),
    "commits before the assignment": BrokenRule(
        "g05_a_commit_of_a_stale_generation",
        ClassicGroup,
        "check_commit",
        _commits_before_the_assignment,
    ),
    "instances are not told apart": BrokenRule(
        "a_static_member_is_fenced_by_its_successor",
        ClassicGroup,
        "check_member",
        _ignores_instances,
    ),
    "who waits under an old id waits on": BrokenRule(
        "a_static_member_is_fenced_by_its_successor", Membership, "replace", _replaces_silently
    ),
    "static members come back with a rebalance": BrokenRule(
        "a_static_member_restarts_without_a_rebalance",
        Membership,
        "elect_protocol",
        lambda members, arriving=None: "other" if arriving else "range",
    ),
    "an older leader is told that it leads": BrokenRule(
        "a_static_member_restarts_without_a_rebalance",
        joining,
        "_FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT",
        5,
    ),
    "a new id without a rebalance": BrokenRule(
        "a_static_member_restarts_during_a_rebalance",
        joining,
        "_replace",
        _replaces_without_rebalance,
    ),
    "late static members are removed": BrokenRule(
        "a_static_member_stays_until_its_session_ends",
        rebalance,
        "complete",
        _sends_late_static_members_away,
    ),
    "a leader cannot ask for a rebalance": BrokenRule(
        "a_partition_moves_in_two_rebalances",
        joining,
        "_join_again",
        lambda group, ticket, joiner, member, now: reply(ticket, rebalance.joined(group, member)),
    ),
    "sessions do not begin anew": BrokenRule(
        "failover_of_a_stable_group", sessions, "restart_sessions", lambda group, now: Step()
    ),
    "assignments are not loaded": BrokenRule(
        "failover_of_a_stable_group", ClassicGroup, "_stored_member", _loads_without_assignments
    ),
    "nobody waits for those that have an id": BrokenRule(
        "a_member_id_is_required",
        Membership,
        "have_all_joined",
        property(lambda members: members.joining_count == len(members)),
    ),
    "ids are not forgotten": BrokenRule(
        "a_member_id_is_required", GroupTimers, "set_session", _nothing
    ),
    "members count, not those that wait": BrokenRule(
        "a_group_is_full", joining, "_has_room_for", _counts_members
    ),
    "syncs may stay away": BrokenRule("a_sync_never_comes", GroupTimers, "set_sync", _nothing),
    "waiting requests do not keep a session": BrokenRule(
        "a_sync_never_comes", Member, "keeps_its_session", property(lambda member: False)
    ),
    "the delay is never extended": BrokenRule(
        "three_join_and_one_is_killed", rebalance, "join_time_is_up", _delays_once
    ),
    "the first decides alone": BrokenRule(
        "votes", Membership, "elect_protocol", _prefers_the_first
    ),
    "an assignment that is not stored": BrokenRule(
        "the_log_refuses", syncing, "_store", _store_as_if
    ),
}
