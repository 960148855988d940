"""The records that change a consumer group. Their contents are sorted: equal states are equal
bytes, whatever the order in which they came about."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord
from broker.groups import records
from broker.groups.consumer.member import ClassicSession, Member
from broker.groups.consumer.partitions import Held, Partitions, in_order
from broker.groups.consumer.subscriptions import ResolvedRegex
from broker.protocol import messages as m


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return records.record(
        m.ConsumerGroupMetadataKey(group_id=group_id),
        m.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def no_group(group_id: str) -> CoordinatorRecord:
    return records.tombstone(m.ConsumerGroupMetadataKey(group_id=group_id))


def no_partition_metadata(group_id: str) -> CoordinatorRecord:
    return records.tombstone(m.ConsumerGroupPartitionMetadataKey(group_id=group_id))


def member(group_id: str, it: Member) -> CoordinatorRecord:
    """What the member asked for."""
    return records.record(
        m.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=it.member_id),
        m.ConsumerGroupMemberMetadataValue(
            instance_id=it.instance_id,
            rack_id=it.rack_id,
            client_id=it.client_id,
            client_host=it.client_host,
            subscribed_topic_names=sorted(it.topic_names),
            subscribed_topic_regex=it.topic_regex,
            rebalance_timeout_ms=it.rebalance_timeout_ms,
            server_assignor=it.server_assignor,
            classic_member_metadata=_classic(it.classic),
        ),
    )


def _classic(session: ClassicSession | None) -> m.ClassicMemberMetadata | None:
    return (
        None
        if session is None
        else m.ClassicMemberMetadata(
            session_timeout_ms=session.session_timeout_ms,
            supported_protocols=[
                m.ClassicProtocol(name=each.name, metadata=each.metadata)
                for each in session.protocols
            ],
        )
    )


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    return records.record(
        m.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        m.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=timestamp_ms
        ),
    )


def no_target_epoch(group_id: str) -> CoordinatorRecord:
    return records.tombstone(m.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id))


def target(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    return records.record(
        m.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        m.ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                m.TargetTopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in in_order(partitions)
            ]
        ),
    )


def current(group_id: str, it: Member) -> CoordinatorRecord:
    """What the member owns."""
    return records.record(
        m.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=it.member_id),
        m.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=it.epoch,
            previous_member_epoch=it.previous_epoch,
            state=it.state,
            assigned_partitions=_with_epochs(it.assigned),
            partitions_pending_revocation=_with_epochs(it.revoking),
        ),
    )


def _with_epochs(held: Held) -> list[m.CurrentTopicPartitions]:
    return [
        m.CurrentTopicPartitions(
            topic_id=topic_id,
            partitions=sorted(held[topic_id]),
            assignment_epochs=[held[topic_id][number] for number in sorted(held[topic_id])],
        )
        for topic_id in sorted(held)
    ]


def no_current(group_id: str, member_id: str) -> CoordinatorRecord:
    return records.tombstone(
        m.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    )


def no_target(group_id: str, member_id: str) -> CoordinatorRecord:
    return records.tombstone(
        m.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    )


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """All of a member. The order is Kafka's, whose loader insists on it."""
    return [
        no_current(group_id, member_id),
        no_target(group_id, member_id),
        no_subscription(group_id, member_id),
    ]


def no_subscription(group_id: str, member_id: str) -> CoordinatorRecord:
    return records.tombstone(
        m.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
    )


def regex(group_id: str, expression: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    return records.record(
        m.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression),
        m.ConsumerGroupRegularExpressionValue(
            topics=sorted(resolved.topics),
            version=resolved.version,
            timestamp=resolved.timestamp_ms,
        ),
    )


def no_regex(group_id: str, expression: str) -> CoordinatorRecord:
    return records.tombstone(
        m.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression)
    )
