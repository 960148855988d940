"""Rules of classic groups that are broken in one way each, for random lives that must notice it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from broker.coordination.step import Reply, Step
from broker.groups.classic import answers, joining, leaving, rebalance, sessions, syncing
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.member import Member
from broker.groups.classic.membership import Membership
from broker.groups.classic.timers import GroupTimers
from broker.protocol.errors import ErrorCode

Patch = pytest.MonkeyPatch


def lose_requests_of_removed_members(patch: Patch) -> None:
    patch.setattr(Membership, "_dismiss", lambda self, member, code, member_id: [])


def lose_requests_that_are_repeated(patch: Patch) -> None:
    def park_join(self: Membership, member: Member, ticket: Any) -> list[Reply]:
        self._joining_count += member.join is None
        member.join = ticket
        self._waiting[ticket] = None
        return []

    patch.setattr(Membership, "park_join", park_join)


def lose_replies_with_a_refusal(patch: Patch) -> None:
    """What has nothing to do with the record is dropped with it."""

    def in_turn(*steps: Step) -> Step:
        whole = Step()
        for step in steps:
            whole.records += step.records
            whole.replies += step.replies
            whole.refused = whole.refused or step.refused
        return whole

    for module in (joining, leaving, rebalance, sessions, syncing):
        if hasattr(module, "in_turn"):
            patch.setattr(module, "in_turn", in_turn)


def keep_the_generation(patch: Patch) -> None:
    patch.setattr(rebalance, "_next_generation", lambda generation: max(generation, 1))


def sync_for_any_generation(patch: Patch) -> None:
    def check(group: ClassicGroup, body: Any) -> ErrorCode:
        return group.check_member(body.member_id, body.group_instance_id)

    patch.setattr(syncing, "_check", check)


def commit_for_any_generation(patch: Patch) -> None:
    def check(group: ClassicGroup, member_id: str, instance_id: str | None, *_: Any) -> ErrorCode:
        return group.check_member(member_id, instance_id)

    patch.setattr(ClassicGroup, "check_commit", check)


def forget_assignments_in_a_replay(patch: Patch) -> None:
    original = ClassicGroup._stored_member

    def stored_member(group: ClassicGroup, stored: Any, protocol: str) -> Member:
        known = group.members.get(stored.member_id)
        assignment = None if known is None else known.assignment
        member = original(group, stored, protocol)
        member.assignment = member.assignment if assignment is None else assignment
        return member

    patch.setattr(ClassicGroup, "_stored_member", stored_member)


def forget_the_leader_in_a_replay(patch: Patch) -> None:
    original = Membership.take_over

    def take_over(self: Membership, members: Iterable[Member], leader: str | None) -> None:
        original(self, members, None)

    patch.setattr(Membership, "take_over", take_over)


def keep_members_that_a_record_does_not_have(patch: Patch) -> None:
    original = Membership.take_over

    def take_over(self: Membership, members: Iterable[Member], leader: str | None) -> None:
        known = {each.member_id: each for each in self}
        original(self, (known | {each.member_id: each for each in members}).values(), leader)

    patch.setattr(Membership, "take_over", take_over)


def never_end_a_rebalance(patch: Patch) -> None:
    patch.setattr(GroupTimers, "set_join", lambda *_: None)


def never_end_the_wait_for_syncs(patch: Patch) -> None:
    patch.setattr(GroupTimers, "set_sync", lambda *_: None)


def wait_for_ids_for_ever(patch: Patch) -> None:
    original = sessions.session_is_over

    def session_is_over(group: ClassicGroup, member_id: str, now: Any) -> Step:
        if member_id in group.members.pending_joins:
            return Step()
        return original(group, member_id, now)

    patch.setattr(sessions, "session_is_over", session_is_over)


def forget_sessions_that_ran_out_in_a_sync(patch: Patch) -> None:
    original = syncing._store

    def store(group: ClassicGroup, body: Any, now: Any) -> Step:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(GroupTimers, "set_session", lambda *_: None)
            return original(group, body, now)

    patch.setattr(syncing, "_store", store)


def answer_the_leader_alone(patch: Patch) -> None:
    original = syncing._store

    def store(group: ClassicGroup, body: Any, now: Any) -> Step:
        step = original(group, body, now)
        return Step(step.records, step.replies[:1], step.refused)

    patch.setattr(syncing, "_store", store)


def tell_everybody_of_the_members(patch: Patch) -> None:
    original = rebalance.joined

    def joined(group: ClassicGroup, member: Member) -> Any:
        response = original(group, member)
        response.members = answers.members_joined(group.members, group.protocol_name)
        return response

    patch.setattr(rebalance, "joined", joined)


def drop_an_assignment_that_is_refused(patch: Patch) -> None:
    original = syncing._store

    def store(group: ClassicGroup, body: Any, now: Any) -> Step:
        step = original(group, body, now)
        return Step(step.records, step.replies, lambda code, now: Step())

    patch.setattr(syncing, "_store", store)


def keep_the_old_id_of_a_static_member(patch: Patch) -> None:
    def replace(self: Membership, old: Member, new: Member) -> list[Reply]:
        self.add(new)
        return []

    patch.setattr(Membership, "replace", replace)


def assign_what_was_not_stored(patch: Patch) -> None:
    """The members get other bytes than the record."""
    original = syncing._synced

    def synced(group: ClassicGroup, assignment: bytes) -> Any:
        return original(group, assignment[::-1])

    patch.setattr(syncing, "_synced", synced)


MUTANTS = (
    lose_requests_of_removed_members,
    lose_requests_that_are_repeated,
    lose_replies_with_a_refusal,
    keep_the_generation,
    sync_for_any_generation,
    commit_for_any_generation,
    forget_assignments_in_a_replay,
    forget_the_leader_in_a_replay,
    keep_members_that_a_record_does_not_have,
    never_end_a_rebalance,
    never_end_the_wait_for_syncs,
    wait_for_ids_for_ever,
    forget_sessions_that_ran_out_in_a_sync,
    answer_the_leader_alone,
    tell_everybody_of_the_members,
    drop_an_assignment_that_is_refused,
    keep_the_old_id_of_a_static_member,
    assign_what_was_not_stored,
)
