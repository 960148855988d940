"""A consumer group as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.groups.consumer.member import Member
from broker.groups.consumer.partitions import Held, Partitions
from broker.groups.seen import SeenGroup, SeenMember

if TYPE_CHECKING:
    from broker.groups.consumer.group import ConsumerGroup


def seen_group(group: ConsumerGroup) -> SeenGroup:
    """A member owns what is assigned to it, and what it has not confirmed yet to have given up."""
    state = group.state
    members = [state.members[each] for each in sorted(state.members)]
    resolved = sorted(state.subscriptions.resolved.items())
    lasting = (
        state.epoch,
        state.metadata_hash,
        state.has_partition_metadata,
        state.assignment_epoch,
        state.assignment_timestamp_ms,
        [(each, _sorted(state.targets[each])) for each in sorted(state.targets)],
        [_lasting_member(each) for each in members],
        [(name, sorted(r.topics), r.version, r.timestamp_ms) for name, r in resolved],
    )
    return SeenGroup(
        group.group_id,
        group.kind.value,
        group.state_name,
        state.epoch,
        tuple(
            SeenMember(
                each.member_id,
                each.instance_id,
                each.epoch,
                *_owned(each),
                _named(state.targets.get(each.member_id, {})),
            )
            for each in members
        ),
        repr(lasting),
        {(topic_id.hex(), number): holder for topic_id, number, holder in state.owners},
    )


def _owned(member: Member) -> tuple[tuple[tuple[str, int], ...], tuple[int, ...]]:
    owned = {
        (topic_id.hex(), partition): epoch
        for held in (member.revoking, member.assigned)
        for topic_id, partitions in held.items()
        for partition, epoch in partitions.items()
    }
    return tuple(sorted(owned)), tuple(owned[each] for each in sorted(owned))


def _named(partitions: Partitions) -> tuple[tuple[str, int], ...]:
    return tuple(
        sorted((topic_id.hex(), each) for topic_id, them in partitions.items() for each in them)
    )


def _lasting_member(member: Member) -> object:
    return (
        member.member_id,
        member.instance_id,
        member.rack_id,
        (member.client_id, member.client_host),
        sorted(member.topic_names),
        member.topic_regex,
        member.rebalance_timeout_ms,
        member.server_assignor,
        member.classic,
        (member.epoch, member.previous_epoch, member.state),
        _sorted_held(member.assigned),
        _sorted_held(member.revoking),
    )


def _sorted(partitions: Partitions) -> list[tuple[bytes, list[int]]]:
    return sorted((topic_id, sorted(numbers)) for topic_id, numbers in partitions.items())


def _sorted_held(held: Held) -> list[tuple[bytes, list[tuple[int, int]]]]:
    return sorted((topic_id, sorted(numbers.items())) for topic_id, numbers in held.items())
