"""The lasting state of a consumer group: what a replay of its records gives.

Compaction, and a leader that changes while the log is cleaned, can show records in an order that
was never written. Replaying never fails: what a later record says, counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from broker.groups.consumer.member import (
    LEAVE_EPOCH,
    ClassicProtocolOffer,
    ClassicSession,
    Member,
    MemberState,
)
from broker.groups.consumer.owners import Owners
from broker.groups.consumer.partitions import (
    NO_PARTITIONS,
    NOTHING_HELD,
    Held,
    Partitions,
    from_pairs,
)
from broker.groups.consumer.subscriptions import ResolvedRegex, Subscriptions
from broker.protocol import messages as m

FIRST_EPOCH = 1
NO_ASSIGNMENT_EPOCH = -1


class GroupState:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        """Grows whenever a new target assignment is needed."""
        self.metadata_hash = 0
        """Of the subscribed topics, as they were when the epoch began."""
        self.has_partition_metadata = False
        """Whether a record of Kafka 4.0 or older, replaced by the hash, is still to be deleted."""
        self.assignment_epoch = FIRST_EPOCH
        """The group's epoch for which the target was computed."""
        self.assignment_timestamp_ms = 0
        self.targets: dict[str, Partitions] = {}
        self.members: dict[str, Member] = {}
        self.static_ids: dict[str, str] = {}
        """Instance id to member id."""
        self.owners = Owners()
        self.subscriptions = Subscriptions()
        self.assignor_votes: Counter[str] = Counter()
        self.classic_members = 0
        self.classic_protocols: Counter[str] = Counter()
        self._stable_at: Counter[int] = Counter()

    @property
    def is_reconciled(self) -> bool:
        """Whether every member has what the target assigns to it."""
        return self._stable_at[self.assignment_epoch] == len(self.members)

    def target_of(self, member_id: str, instance_id: str | None = None) -> Partitions:
        """A static member that is just being replaced inherits the target of its predecessor."""
        inherited = None if instance_id is None else self.static_ids.get(instance_id)
        return self.targets.get(inherited or member_id, NO_PARTITIONS)

    def static_member(self, instance_id: str | None) -> Member | None:
        member_id = None if instance_id is None else self.static_ids.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    # Replay

    def replay_epoch(self, value: m.ConsumerGroupMetadataValue) -> None:
        self.epoch = value.epoch
        self.metadata_hash = value.metadata_hash

    def replay_partition_metadata(
        self, value: m.ConsumerGroupPartitionMetadataValue | None
    ) -> None:
        self.has_partition_metadata = value is not None

    def replay_member(
        self, member_id: str, value: m.ConsumerGroupMemberMetadataValue | None
    ) -> None:
        before = self.members.get(member_id)
        if value is None:
            self._change(before, None)
            return
        self._change(
            before,
            replace(
                before or Member(member_id),
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                topic_names=self.subscriptions.shared(frozenset(value.subscribed_topic_names)),
                topic_regex=value.subscribed_topic_regex,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                server_assignor=value.server_assignor,
                classic=_classic_session(value.classic_member_metadata),
            ),
        )

    def replay_assignment_epoch(
        self, value: m.ConsumerGroupTargetAssignmentMetadataValue | None
    ) -> None:
        self.assignment_epoch = NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch
        self.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp

    def replay_target(
        self, member_id: str, value: m.ConsumerGroupTargetAssignmentMemberValue | None
    ) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = from_pairs(
                (each.topic_id, each.partitions) for each in value.topic_partitions
            )

    def replay_current(
        self, member_id: str, value: m.ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        before = self.members.get(member_id)
        if value is not None:
            after = replace(
                before or Member(member_id),
                epoch=value.member_epoch,
                previous_epoch=value.previous_member_epoch,
                state=MemberState.of(value.state),
                assigned=_held(value.assigned_partitions, value.member_epoch),
                revoking=_held(value.partitions_pending_revocation, value.member_epoch),
            )
            self._change(before, after)
        elif before is not None:
            gone = replace(
                before,
                epoch=LEAVE_EPOCH,
                previous_epoch=LEAVE_EPOCH,
                assigned=NOTHING_HELD,
                revoking=NOTHING_HELD,
            )
            self._change(before, gone)

    def replay_regex(self, regex: str, value: m.ConsumerGroupRegularExpressionValue | None) -> None:
        resolved = None
        if value is not None:
            resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        self.subscriptions.resolve(regex, resolved)

    # What hangs on the members

    def _change(self, before: Member | None, after: Member | None) -> None:
        """The one place where a member changes: all that is derived from members follows."""
        if before is not None:
            self._count(before, -1)
            if self.static_ids.get(before.instance_id or "") == before.member_id:
                del self.static_ids[before.instance_id or ""]
        if after is not None:
            self._count(after, +1)
            if after.instance_id is not None:
                self.static_ids[after.instance_id] = after.member_id
            self.members[after.member_id] = after
        elif before is not None:
            del self.members[before.member_id]
        self.subscriptions.change(before, after)
        self.owners.change(before, after)

    def _count(self, member: Member, by: int) -> None:
        if member.state is MemberState.STABLE:
            _add(self._stable_at, member.epoch, by)
        if member.server_assignor is not None:
            _add(self.assignor_votes, member.server_assignor, by)
        if member.classic is not None:
            self.classic_members += by
            for offer in member.classic.protocols:
                _add(self.classic_protocols, offer.name, by)


def _add(counter: Counter, key: object, by: int) -> None:  # type: ignore[type-arg]
    counter[key] += by
    if not counter[key]:
        del counter[key]


def _held(topics: list[m.CurrentTopicPartitions], member_epoch: int) -> Held:
    """Kafka before 4.3 stored no epochs of single partitions: the member's counts for all."""
    held: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [member_epoch] * len(topic.partitions)
        held.setdefault(topic.topic_id, {}).update(zip(topic.partitions, epochs, strict=True))
    return {topic_id: numbers for topic_id, numbers in held.items() if numbers}


def _classic_session(value: m.ClassicMemberMetadata | None) -> ClassicSession | None:
    if value is None:
        return None
    offers = (ClassicProtocolOffer(each.name, each.metadata) for each in value.supported_protocols)
    return ClassicSession(value.session_timeout_ms, tuple(offers))
