"""One classic group: what it knows, what is stored of it, and what others may ask of it.

The rules are in the modules beside this one: `joining`, `syncing`, `leaving`, `sessions`, and
`rebalance`, which the others have in common.

Stored is what the last GroupMetadata record says: generation, protocol, leader, and members with
their assignments. It is written when the leader's SyncGroup arrives, when the last member is gone,
and when a static member comes back under a new id. `replay` takes it over, and nothing else makes
a group Stable. A rebalance is soft state on top of that: it ends with the leadership, and the next
coordinator begins with the last generation that was completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups import records
from broker.groups.classic.context import ClassicContext
from broker.groups.classic.member import Member
from broker.groups.classic.membership import Membership
from broker.groups.classic.seen import seen_group
from broker.groups.classic.state import State
from broker.groups.classic.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from broker.groups.classic.timers import GroupTimers
from broker.groups.group import GroupKind
from broker.groups.seen import SeenGroup
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_NO_TIMESTAMP = -1
_NO_TIMEOUT = -1


class ClassicGroup:
    """Implements `groups.group.Group`."""

    kind = GroupKind.CLASSIC

    def __init__(self, group_id: str, context: ClassicContext, now_ms: int | None = None) -> None:
        """`now_ms` is the time of its creation; None for a group that is about to be replayed."""
        self.group_id = group_id
        self.context = context
        self.timers = GroupTimers(context.deadlines, group_id)
        self.state = State.EMPTY
        self.state_since_ms = now_ms
        """Wall time; None in records of old versions of Kafka."""
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.members = Membership(context.waiting)
        self.stored: m.GroupMetadataValue | None = None
        """The last record."""
        self.subscribed_topics: frozenset[str] | None = None
        """Of the members of this generation; None while they are not known."""

        self.initial_delay_ms: tuple[int, int] | None = None
        """Set while a rebalance that began with an empty group waits for members to come: the
        delay that is running, and how much of the rebalance timeout is left after it."""
        self.member_came = False
        """A member came during the delay that is running, so another one follows."""
        self.arriving: Member | None = None
        """Takes the place of a static member when the record that says so is replayed."""

    # What is stored

    def replay(self, value: m.GroupMetadataValue) -> None:
        self.stored = value
        if self.state is State.PREPARING and self.members and not value.members:
            return  # written by the first JoinGroup of a new group, without the member that joins
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol_name = value.protocol
        stored_ms = value.current_state_timestamp
        self.state_since_ms = None if stored_ms == _NO_TIMESTAMP else stored_ms
        self.members.take_over(
            [self._stored_member(each, value.protocol or "") for each in value.members],
            value.leader,
        )
        self.arriving = None
        self.state = State.STABLE if value.members else State.EMPTY
        self.note_subscriptions()

    def _stored_member(self, stored: m.MemberMetadata, protocol: str) -> Member:
        """Live members keep what no record holds: requests, and protocols not selected."""
        member = self.members.get(stored.member_id)
        if member is None and self.arriving is not None:
            member = self.arriving if self.arriving.member_id == stored.member_id else None
        has_timeout = stored.rebalance_timeout != _NO_TIMEOUT
        rebalance_timeout_ms = stored.rebalance_timeout if has_timeout else stored.session_timeout
        chosen = (protocol, stored.subscription)
        if member is None or chosen not in member.protocols:
            return Member(
                stored.member_id,
                stored.group_instance_id,
                stored.client_id,
                stored.client_host,
                stored.session_timeout,
                rebalance_timeout_ms,
                (chosen,),
                stored.assignment,
            )
        member.instance_id = stored.group_instance_id
        member.client_id, member.client_host = stored.client_id, stored.client_host
        member.session_timeout_ms = stored.session_timeout
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.assignment = stored.assignment
        return member

    def record(
        self, members: Iterable[Member], assignments: Mapping[str, bytes], leader: str | None
    ) -> CoordinatorRecord:
        """What is to be stored of this generation."""
        since_ms = _NO_TIMESTAMP if self.state_since_ms is None else self.state_since_ms
        value = m.GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=leader,
            current_state_timestamp=since_ms,
            members=[
                m.MemberMetadata(
                    member_id=each.member_id,
                    group_instance_id=each.instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    rebalance_timeout=each.rebalance_timeout_ms,
                    session_timeout=each.session_timeout_ms,
                    subscription=each.metadata(self.protocol_name),
                    assignment=assignments.get(each.member_id, b""),
                )
                for each in members
            ],
        )
        return records.record(m.GroupMetadataKey(group=self.group_id), value)

    def empty_record(self, generation: int, now: Now) -> CoordinatorRecord:
        """What is to be stored when no member is left."""
        value = m.GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=generation,
            protocol=None,
            leader=None,
            current_state_timestamp=now.wall_ms,
            members=[],
        )
        return records.record(m.GroupMetadataKey(group=self.group_id), value)

    def tombstones(self) -> list[CoordinatorRecord]:
        return [records.tombstone(m.GroupMetadataKey(group=self.group_id))]

    def forget_timers(self) -> None:
        """The group is gone."""
        self.timers.cancel_join()
        self.timers.cancel_sync()
        for member_id in (*self.members.pending_joins, *(each.member_id for each in self.members)):
            self.timers.cancel_session(member_id)

    # What the rules ask

    def enter(self, state: State, now: Now) -> None:
        self.state = state
        self.state_since_ms = now.wall_ms

    def note_subscriptions(self) -> None:
        """The topics of the members are those of their metadata for the selected protocol."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            self.subscribed_topics = None
        elif not self.members:
            self.subscribed_topics = frozenset()
        elif self.protocol_name is None:
            self.subscribed_topics = None
        else:
            chosen = self.protocol_name
            self.subscribed_topics = subscribed_topics(
                each.metadata(chosen) for each in self.members
            )

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols could be one of the group."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        return protocol_type == self.protocol_type and self.members.agree_on_one_of(names)

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if instance_id is not None:
            known = self.members.static_id(instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # What others ask

    @property
    def state_name(self) -> str:
        return self.state.value

    def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> ErrorCode:
        is_empty = self.state is State.EMPTY
        if generation_or_epoch < 0 and is_empty:
            return ErrorCode.NONE  # an admin client, or a consumer that assigns partitions itself
        if generation_or_epoch >= 0 or member_id or instance_id is not None:
            code = self.check_member(member_id, instance_id)
            if code:
                return code
            if generation_or_epoch != self.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif not is_transactional and not is_empty:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not is_transactional and self.state is State.COMPLETING:
            # The generation is right: the member only has to fetch its assignment first.
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def check_commit_to(
        self, member_id: str, generation_or_epoch: int, topic: str, partition: int
    ) -> ErrorCode:
        """The broker does not know what the leader assigned."""
        return ErrorCode.NONE

    def commit_seen(self, member_id: str, now: Now) -> None:
        member = self.members.get(member_id)
        if member is not None and self.state in (State.STABLE, State.PREPARING):
            self.timers.set_session(member_id, member.session_timeout_ms, now)

    def check_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        return ErrorCode.NONE

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NONE if self.state is State.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def check_offset_delete(self) -> ErrorCode:
        is_consumers = self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return ErrorCode.NONE if is_consumers else self.check_delete()

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        if self.protocol_type is None:
            return commit_timestamp_ms
        if self.state is State.EMPTY:
            since_ms = self.state_since_ms
            return commit_timestamp_ms if since_ms is None else since_ms
        # A rebalance says nothing about who will read what (KAFKA-13636).
        is_known = self.subscribed_topics is not None and self.state is State.STABLE
        return commit_timestamp_ms if is_known else None

    def seen(self) -> SeenGroup:
        return seen_group(self)

    def described(self) -> m.DescribeGroupsResponseDescribedGroup:
        """What members subscribe to is only said of a stable group, as in Kafka."""
        protocol = self.protocol_name if self.state is State.STABLE else None
        return m.DescribeGroupsResponseDescribedGroup(
            group_id=self.group_id,
            group_state=self.state_name,
            protocol_type=self.protocol_type or "",
            protocol_data=protocol or "",
            members=[
                m.DescribedGroupMember(
                    member_id=each.member_id,
                    group_instance_id=each.instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    member_metadata=b"" if protocol is None else each.metadata(protocol),
                    member_assignment=each.assignment,
                )
                for each in self.members
            ],
        )
