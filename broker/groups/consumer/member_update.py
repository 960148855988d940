"""What follows from a request of a member: records for the member, the group and the target.

The steps are Kafka's. Nothing is changed here: the records are replayed when they are written, and
until then each step works with the values that the steps before it found.
"""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import group_records, regexes, target
from broker.groups.consumer.around import REBALANCE
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import Member, MemberState
from broker.groups.consumer.partitions import Partitions
from broker.groups.consumer.reconciliation import Goal, reconcile
from broker.groups.consumer.regexes import RegexChange


class MemberUpdate:
    """One change of one member, from `before` to `after`."""

    def __init__(self, group: ConsumerGroup, before: Member, after: Member, now: Now) -> None:
        self.records: list[CoordinatorRecord] = []
        self._group = group
        self._state = group.state
        self._before = before
        self._after = after
        self._now = now
        self._epoch = group.state.epoch
        names_changed = after.topic_names != before.topic_names
        if after != before:
            self.records.append(group_records.member(group.group_id, after))
        regex_change = self._change_regex()
        self.subscription_changed = names_changed or regex_change is not RegexChange.NONE
        """Whether the member is subscribed to something else than before."""
        # An expression that is not resolved yet bumps the epoch when it is: once, not twice.
        bumps = names_changed or regex_change is RegexChange.TO_RESOLVED
        if bumps or group.needs_metadata_check:
            self._check_metadata(bumps)

    def carry_out(self, owned: Partitions | None) -> Member:
        """Brings the target up to date, and the member one step closer to it."""
        goal_epoch, part = self._state.assignment_epoch, None
        if self._epoch > goal_epoch and target.is_due(self._group, self._now):
            goal_epoch = self._epoch
            records, part = target.renew(
                self._group, goal_epoch, self._before, self._after, self._now
            )
            self.records += records
        return self._reconcile(goal_epoch, part, owned)

    def reconcile_only(self, owned: Partitions | None) -> Member:
        """One step towards the target that there is."""
        return self._reconcile(self._state.assignment_epoch, None, owned)

    # Steps

    def _change_regex(self) -> RegexChange:
        change, records = regexes.change_of(self._group, self._before, self._after)
        self.records += records
        regexes.refresh_if_needed(self._group, self._after, self._now)
        return change

    def _check_metadata(self, bumps: bool) -> None:
        """Begins a new epoch of the group if the subscribed topics are others than before."""
        group, state = self._group, self._state
        dropped = regexes.dropped_by(group, self._before, self._after)
        names = state.subscriptions.names_after(
            leaving=(self._before,),
            joining=(self._after,),
            resolved=dict.fromkeys(dropped),
        )
        hashed = state.metadata_hash
        if names is not None or group.needs_metadata_check:
            hashed = group.around.hashes.of(state.subscriptions.names if names is None else names)
        if bumps or hashed != state.metadata_hash:
            self._epoch += 1
            self.records.append(group_records.group_epoch(group.group_id, self._epoch, hashed))
        group.metadata_checked(self._epoch)
        if state.has_partition_metadata:
            self.records.append(group_records.no_partition_metadata(group.group_id))

    def _reconcile(self, epoch: int, part: Partitions | None, owned: Partitions | None) -> Member:
        member = self._after
        if not self.subscription_changed and member.is_reconciled_to(epoch):
            return member
        if part is None:
            part = self._state.target_of(member.member_id, member.instance_id)
        names = self._state.subscriptions.topics_of(member)
        goal = Goal(
            epoch,
            part,
            lambda topic_id: self._group.around.topics.topic_name(topic_id) in names,
            self._state.owners.is_held,
        )
        reconciled = reconcile(member, goal, owned, subscription_changed=self.subscription_changed)
        if reconciled != member:
            self.records.append(group_records.current(self._group.group_id, reconciled))
            if not reconciled.uses_classic_protocol:
                self._time_revocation(reconciled)
        return reconciled

    def _time_revocation(self, member: Member) -> None:
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._group.expect_revocation(member, self._now)
        else:
            self._group.expect_no_more(REBALANCE, member.member_id)
