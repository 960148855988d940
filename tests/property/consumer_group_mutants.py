"""Rules of consumer groups, broken one at a time, for tests that must notice it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import fencing, group, heartbeat, owners, reconciliation, regexes
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_state import GroupState
from broker.groups.consumer.member import Member
from broker.groups.consumer.owners import Owners
from broker.groups.consumer.partitions import Held, Partitions
from broker.groups.consumer.reconciliation import Goal
from broker.protocol.errors import ErrorCode

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


def forget_who_holds_a_partition_that_comes_back(patch: Patch) -> None:
    """G03: what was let go is crossed out after what is held was entered."""

    def change(self: Owners, before: Member | None, after: Member | None) -> None:
        if after is not None:
            self._take(after.assigned, after.member_id)
            self._take(after.revoking, after.member_id)
        if before is not None:
            self._release(before.revoking, before.member_id)
            kept = {} if after is None else after.assigned
            gone = {topic: held for topic, held in before.assigned.items() if topic not in kept}
            self._release(gone, before.member_id)

    patch.setattr(Owners, "change", change)


def believe_that_what_must_go_is_gone(patch: Patch) -> None:
    patch.setattr(reconciliation, "_still_owns", lambda held, owned: False)


def take_silence_for_a_confirmation(patch: Patch) -> None:
    still_owns = reconciliation._still_owns

    def careless(held: Held, owned: Partitions | None) -> bool:
        return owned is not None and still_owns(held, owned)

    patch.setattr(reconciliation, "_still_owns", careless)


def assign_what_others_hold(patch: Patch) -> None:
    step = reconciliation._advance

    def greedy(member: Member, goal: Goal, owned: Partitions | None) -> Member:
        return step(member, replace(goal, is_held=lambda topic_id, number: False), owned)

    patch.setattr(reconciliation, "_advance", greedy)


def forget_what_is_being_given_up(patch: Patch) -> None:
    """Only what is assigned counts as held."""

    def change(self: Owners, before: Member | None, after: Member | None) -> None:
        if before is not None:
            self._release(before.assigned, before.member_id)
        if after is not None:
            self._take(after.assigned, after.member_id)

    patch.setattr(Owners, "change", change)


def take_tombstones_for_members(patch: Patch) -> None:
    """G11: a tombstone of a member that was never read makes one."""
    replay = GroupState.replay_member

    def careless(self: GroupState, member_id: str, value: Any) -> None:
        if value is None and member_id not in self.members:
            self._change(None, Member(member_id))
        else:
            replay(self, member_id, value)

    patch.setattr(GroupState, "replay_member", careless)


def accept_commits_of_earlier_epochs(patch: Patch) -> None:
    """L04: whether the partition has been the member's own since is not asked."""
    patch.setattr(ConsumerGroup, "check_commit_to", lambda *_: ErrorCode.NONE)


def let_old_members_release_what_others_took(patch: Patch) -> None:
    """G11: records in an odd order, after the log was cleaned while it was read."""

    def release(self: Owners, held: Held, member_id: str) -> None:
        for topic_id, numbers in held.items():
            for number in numbers:
                self._by_topic.get(topic_id, {}).pop(number, None)

    patch.setattr(owners.Owners, "_release", release)


def accept_any_epoch(patch: Patch) -> None:
    patch.setattr(heartbeat, "_check_epoch", lambda member, epoch, owned: None)


def remember_members_that_left(patch: Patch) -> None:
    """The second of three tombstones is not written, so that the target stays."""
    fence = fencing.fence

    def sloppy(group: ConsumerGroup, members: list[Member], now: Now) -> list[CoordinatorRecord]:
        records = fence(group, members, now)
        return [each for each in records if each.key[:2] != b"\0\7"]

    patch.setattr(fencing, "fence", sloppy)


def watch_no_sessions(patch: Patch) -> None:
    patch.setattr(group.ConsumerGroup, "expect_heartbeat", lambda self, member, now: None)


def begin_no_epoch_when_a_member_leaves(patch: Patch) -> None:
    fence = fencing.fence

    def sloppy(group: ConsumerGroup, members: list[Member], now: Now) -> list[CoordinatorRecord]:
        return [each for each in fence(group, members, now) if each.key[:2] != b"\0\3"]

    patch.setattr(fencing, "fence", sloppy)


def look_for_new_topics_only_once(patch: Patch) -> None:
    patch.setattr(regexes, "REFRESH_INTERVAL_MIN_S", 1e9)


def change_the_state_without_a_record(patch: Patch) -> None:
    def counted(self: ConsumerGroup, epoch: int) -> None:
        self._metadata_checked_epoch = epoch
        self.state.assignment_timestamp_ms += 1

    patch.setattr(group.ConsumerGroup, "metadata_checked", counted)


MUTANTS: tuple[Mutant, ...] = (
    forget_who_holds_a_partition_that_comes_back,
    believe_that_what_must_go_is_gone,
    take_silence_for_a_confirmation,
    assign_what_others_hold,
    forget_what_is_being_given_up,
    let_old_members_release_what_others_took,
    accept_any_epoch,
    remember_members_that_left,
    watch_no_sessions,
    begin_no_epoch_when_a_member_leaves,
    look_for_new_topics_only_once,
    change_the_state_without_a_record,
)
