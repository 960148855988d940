"""A new target assignment for a whole group, when its epoch has moved past the last one."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import group_records
from broker.groups.consumer.assignors import ASSIGNORS
from broker.groups.consumer.assignors.spec import GroupSpec, SubscribedMember
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import Member
from broker.groups.consumer.partitions import Partitions


def is_due(group: ConsumerGroup, now: Now) -> bool:
    """Targets are not computed more often than the assignment interval (KIP-1263), so that many
    members that join together cost few computations. A clock that was set back does not count."""
    last_ms = group.state.assignment_timestamp_ms
    elapsed_ms = now.wall_ms - last_ms
    interval_ms = group.around.settings.group_consumer_assignment_interval_ms
    return not last_ms or elapsed_ms < 0 or elapsed_ms >= interval_ms


def renew(
    group: ConsumerGroup, epoch: int, before: Member, after: Member, now: Now
) -> tuple[list[CoordinatorRecord], Partitions]:
    """The records of the new target, and the part of the member that is just being changed."""
    spec = _spec(group, after)
    assign = ASSIGNORS[preferred_assignor(group, before, after)]
    assignment = assign(spec)
    known = group.state.targets
    records = [
        group_records.target(group.group_id, member_id, target)
        for member_id, target in assignment.items()
        if member_id not in known or target is not spec.members[member_id].current
    ]
    records.append(group_records.target_epoch(group.group_id, epoch, now.wall_ms))
    return records, assignment[after.member_id]


def preferred_assignor(group: ConsumerGroup, before: Member | None, after: Member | None) -> str:
    """The assignor that most members ask for; the first that is configured if none does."""
    votes = dict(group.state.assignor_votes)
    for member, vote in ((before, -1), (after, +1)):
        if member is not None and member.server_assignor is not None:
            votes[member.server_assignor] = votes.get(member.server_assignor, 0) + vote
    offered = group.around.settings.group_consumer_assignors
    return max(offered, key=lambda name: (votes.get(name, 0), -offered.index(name)))


def _spec(group: ConsumerGroup, changed: Member) -> GroupSpec:
    state, topics = group.state, group.around.topics
    members = dict(state.members)
    replaced = state.static_member(changed.instance_id)
    if replaced is not None and replaced.member_id != changed.member_id:
        del members[replaced.member_id]
    members[changed.member_id] = changed
    counts: dict[bytes, int] = {}
    ids_of: dict[tuple[frozenset[str], str | None], frozenset[bytes]] = {}

    def subscribed_ids(member: Member) -> frozenset[bytes]:
        """Members with the same subscription share the result: resolving names is the
        expensive part."""
        key = (member.topic_names, member.topic_regex)
        found = ids_of.get(key)
        if found is None:
            existing = []
            for name in state.subscriptions.topics_of(member):
                topic_id, count = topics.topic_id(name), topics.partition_count(name)
                if topic_id is not None and count is not None:
                    counts[topic_id] = count
                    existing.append(topic_id)
            found = ids_of[key] = frozenset(existing)
        return found

    return GroupSpec(
        {
            member.member_id: SubscribedMember(
                member.member_id,
                member.instance_id,
                subscribed_ids(member),
                state.target_of(member.member_id, member.instance_id),
            )
            for member in members.values()
        },
        counts,
    )
