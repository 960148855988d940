"""ConsumerGroupDescribe: a group as administrators see it."""

from __future__ import annotations

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import Member
from broker.groups.consumer.partitions import Partitions, from_pairs, in_order
from broker.groups.consumer.target import preferred_assignor
from broker.protocol import messages as m

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


def describe(group: ConsumerGroup) -> m.ConsumerGroupDescribeResponseDescribedGroup:
    state = group.state
    return m.ConsumerGroupDescribeResponseDescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=state.epoch,
        assignment_epoch=state.assignment_epoch,
        assignor_name=preferred_assignor(group, None, None),
        members=[_member(group, member) for member in state.members.values()],
    )


def _member(group: ConsumerGroup, member: Member) -> m.Member:
    """What a member still has to give up counts as assigned to it."""
    held = from_pairs([*member.assigned.items(), *member.revoking.items()])
    return m.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(group, held),
        target_assignment=_assignment(group, group.state.target_of(member.member_id)),
        member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
    )


def _assignment(
    group: ConsumerGroup, partitions: Partitions
) -> m.ConsumerGroupDescribeResponseAssignment:
    """Topics that were deleted meanwhile have no name, and are left out."""
    listed = [
        m.ConsumerGroupDescribeResponseTopicPartitions(
            topic_id=topic_id, topic_name=name, partitions=numbers
        )
        for topic_id, numbers in in_order(partitions)
        if (name := group.around.topics.topic_name(topic_id)) is not None
    ]
    return m.ConsumerGroupDescribeResponseAssignment(topic_partitions=listed)
