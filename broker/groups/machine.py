"""One partition of `__consumer_offsets`: the groups that belong to it, and their offsets.

Requests come here by group id and are passed on to the group, if there is one. A group without
members and without a record of its own, of which only offsets were ever known, is no object: it is
what Kafka calls a simple consumer group, and shows as an empty classic group.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import (
    CoordinatorRecord,
    Now,
    ProducerIdAndEpoch,
    Reply,
    Step,
    Ticket,
    TransactionEnd,
    in_turn,
    reply,
)
from broker.groups import both_protocols, offset_requests, records
from broker.groups.both_protocols import GroupsOfBothProtocols
from broker.groups.classic.context import ClassicContext
from broker.groups.classic.groups import ClassicGroups
from broker.groups.consumer.around import Around
from broker.groups.consumer.groups import DEADLINE_KINDS, RECORD_KINDS, ConsumerGroups
from broker.groups.consumer.metadata_hash import MetadataHashes
from broker.groups.group import Group, GroupClient, GroupKind
from broker.groups.offset_expiry import OffsetExpiry
from broker.groups.offsets import CommittedOffsets, committed_of, delete_record, delete_records
from broker.groups.pending_offsets import OffsetKey, PendingOffsets
from broker.groups.read_offsets import GroupAsked, read_offsets
from broker.groups.settings import GroupSettings
from broker.groups.topics_view import TopicsView
from broker.groups.txn_offset_commit import txn_offset_commit
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, MalformedMessageError

_log = logging.getLogger(__name__)

_TIMERS_AT_ONCE = 256
_EXPIRY = ("offset expiry",)
_EMPTY = "Empty"
_DEAD = "Dead"


class GroupMachine:
    """Implements `coordination.step.Machine`."""

    def __init__(
        self, settings: GroupSettings, topics: TopicsView, new_uuid: Callable[[], str]
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.groups: dict[str, Group] = {}
        self.simple_groups: dict[str, None] = {}
        """Not in `groups`. They end with a tombstone of a group, or when they get a member."""
        self.offsets = CommittedOffsets()
        self.pending = PendingOffsets()
        self.deadlines: Deadlines[tuple[str, ...]] = Deadlines()
        """Keys begin with what they are for, such as `session`, and the group's id."""
        self._expiry = OffsetExpiry(self.offsets, self.pending, self.groups, self.simple_groups)
        self._classic = ClassicGroups(
            self.groups, self.simple_groups, ClassicContext(settings, self.deadlines, new_uuid)
        )
        around = Around(settings, topics, self.deadlines, MetadataHashes(topics))
        self.consumer_groups = ConsumerGroups(self.groups, self.simple_groups, around, new_uuid)
        self._both = GroupsOfBothProtocols(self.groups, self._classic, self.consumer_groups)

    # Members of the classic protocol

    def join_group(
        self, ticket: Ticket, body: m.JoinGroupRequest, version: int, client: GroupClient, now: Now
    ) -> Step:
        return self._both.join(ticket, body, version, client, now)

    def sync_group(self, ticket: Ticket, body: m.SyncGroupRequest, now: Now) -> Step:
        return self._both.sync(ticket, body, now)

    def heartbeat(self, ticket: Ticket, body: m.HeartbeatRequest, now: Now) -> Step:
        return self._both.heartbeat(ticket, body, now)

    def leave_group(self, ticket: Ticket, body: m.LeaveGroupRequest, now: Now) -> Step:
        """Versions before 3 have one member, which the handler has put into `members`."""
        return self._both.leave(ticket, body, now)

    # Members of the consumer protocol

    def consumer_group_heartbeat(
        self,
        ticket: Ticket,
        body: m.ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        now: Now,
    ) -> Step:
        """The handler has called `check_request`."""
        return self._both.consumer_heartbeat(ticket, body, client, now)

    def describe_consumer_group(self, ticket: Ticket, group_id: str) -> Step:
        """Replies with a ConsumerGroupDescribeResponseDescribedGroup."""
        return reply(ticket, self.consumer_groups.describe(group_id))

    # Offsets

    def offset_commit(
        self, ticket: Ticket, body: m.OffsetCommitRequest, version: int, now: Now
    ) -> Step:
        """The handler has left out topics and partitions that do not exist."""
        group_id = body.group_id
        return offset_requests.offset_commit(
            self.groups.get(group_id),
            group_id in self.simple_groups,
            self.settings,
            ticket,
            body,
            version,
            now,
        )

    def txn_offset_commit(self, ticket: Ticket, body: m.TxnOffsetCommitRequest, now: Now) -> Step:
        """The handler has left out topics and partitions that do not exist, and has had the
        transaction verified."""
        return txn_offset_commit(
            self.groups.get(body.group_id),
            body.group_id in self.simple_groups,
            self.settings,
            self.topics,
            ticket,
            body,
            now,
        )

    def offset_fetch(
        self, ticket: Ticket, body: GroupAsked, *, require_stable: bool = False
    ) -> Step:
        """Replies with ReadOffsets."""
        group = self.groups.get(body.group_id)
        return reply(ticket, read_offsets(self.offsets, self.pending, group, body, require_stable))

    def offset_delete(self, ticket: Ticket, body: m.OffsetDeleteRequest) -> Step:
        group_id = body.group_id
        return offset_requests.offset_delete(
            self.offsets,
            self.pending,
            self.groups.get(group_id),
            group_id in self.simple_groups,
            ticket,
            body,
        )

    # Groups

    def list_groups(self, ticket: Ticket, states: Sequence[str], types: Sequence[str]) -> Step:
        """Replies with a list of ListedGroup. Filters ignore case; an empty one lets all pass."""
        listed = [
            m.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state_name,
                group_type=group.kind.value,
            )
            for group in self.groups.values()
        ]
        listed += [
            m.ListedGroup(group_id=group_id, group_state=_EMPTY, group_type=GroupKind.CLASSIC.value)
            for group_id in self.simple_groups
        ]
        wanted_states = {each.lower() for each in states}
        wanted_types = {each.lower() for each in types}
        return reply(
            ticket,
            [
                each
                for each in listed
                if (not states or each.group_state.lower() in wanted_states)
                and (not types or each.group_type.lower() in wanted_types)
            ],
        )

    def describe_group(self, ticket: Ticket, group_id: str, version: int) -> Step:
        """Replies with a DescribeGroupsResponseDescribedGroup."""
        group = self.groups.get(group_id)
        described = None if group is None else group.described()
        if group is None and group_id in self.simple_groups:
            described = m.DescribeGroupsResponseDescribedGroup(
                group_id=group_id, group_state=_EMPTY, members=[]
            )
        if described is None:
            described = m.DescribeGroupsResponseDescribedGroup(
                group_id=group_id, group_state=_DEAD, members=[]
            )
            if version >= _FIRST_DESCRIPTION_WITH_NOT_FOUND:
                described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                described.error_message = f"Group {group_id} is not a classic group."
        return reply(ticket, described)

    def delete_group(self, ticket: Ticket, group_id: str) -> Step:
        """Replies with an ErrorCode."""
        group = self.groups.get(group_id)
        if group is None and group_id not in self.simple_groups:
            return reply(ticket, ErrorCode.GROUP_ID_NOT_FOUND)
        code = ErrorCode.NONE if group is None else group.check_delete()
        if code:
            return reply(ticket, code)
        tombstones = delete_records(group_id, self.offsets.of_group(group_id))
        tombstones += self._pending_tombstones(self.pending.keys_of_group(group_id))
        if group is None:
            tombstones.append(records.tombstone(m.GroupMetadataKey(group=group_id)))
        else:
            tombstones += group.tombstones()
        return Step(
            tombstones, [Reply(ticket, ErrorCode.NONE)], lambda code, now: reply(ticket, code)
        )

    # The metadata

    def topics_changed(self, changed: Sequence[str], deleted: Sequence[str], now: Now) -> Step:
        """Topics were created or have other partitions; others were deleted."""
        self.consumer_groups.topics_changed([*changed, *deleted])
        tombstones = [
            delete_record(group_id, topic, partition)
            for topic in deleted
            for group_id, partitions in self.offsets.of_topic(topic)
            for partition in partitions
        ]
        for topic in deleted:
            tombstones += self._pending_tombstones(self.pending.keys_of_topic(topic))
        return Step(tombstones, is_atomic=False)

    def _pending_tombstones(self, keys: Sequence[OffsetKey]) -> list[CoordinatorRecord]:
        """Of offsets that are staged and nothing else: others have one already."""
        return [delete_record(*key) for key in keys if self.offsets.find(*key) is None]

    def topics_replaced(self, now: Now) -> Step:
        """Another metadata image took the place of the one before, and nobody knows how it came
        to be. A topic that offsets were committed for, and that it has not, was deleted."""
        names = self.topics.names()
        known = set(names)
        committed = [*self.offsets.topics(), *self.pending.topics()]
        gone = [topic for topic in dict.fromkeys(committed) if topic not in known]
        self.consumer_groups.all_topics_changed()
        return self.topics_changed(names, gone, now)

    # What the shell asks

    def replay(self, record: CoordinatorRecord) -> None:
        try:
            kind, key = records.decode_key(record.key)
            value = None if record.value is None else records.decode_value(kind, record.value)
        except MalformedMessageError as problem:
            # Records of a newer broker, or of kinds of groups that are not offered here.
            _log.warning("a record of __consumer_offsets is left out: %s", problem)
            return
        self._replay(kind, key, value, record.producer)

    def _replay(self, kind: int, key: Any, value: Any, producer: ProducerIdAndEpoch | None) -> None:
        match kind:
            case records.OFFSET_COMMIT:
                self._replay_offset(key, value, producer)
                if value is not None and key.group not in self.groups:
                    self.simple_groups[key.group] = None
            case records.GROUP_METADATA:
                self._classic.replay(key.group, value)
            case _ if kind in RECORD_KINDS:
                self.consumer_groups.replay(kind, key, value)
            case _:
                pass  # kinds of groups that are not offered here

    def _replay_offset(
        self,
        key: m.OffsetCommitKey,
        value: m.OffsetCommitValue | None,
        producer: ProducerIdAndEpoch | None,
    ) -> None:
        place = (key.group, key.topic, key.partition)
        if producer is not None and value is not None:
            self.pending.stage(producer.producer_id, place, committed_of(value))
            return
        self.offsets.replay(key, value)
        if place in self.pending:
            if value is None:
                self.pending.forget(place)
            else:
                self.pending.replace(place)

    def end_transaction(self, end: TransactionEnd) -> None:
        """Implements `coordination.step.TransactionalMachine`."""
        producer_id = end.producer.producer_id
        for place, committed in self.pending.end(producer_id, committed=end.marker.committed):
            self.offsets.put(*place, committed)
            if place[0] not in self.groups:
                self.simple_groups[place[0]] = None

    def loaded(self, now: Now) -> Step:
        self._set_expiry(now)
        self.consumer_groups.loaded(now)
        return self._classic.loaded(now)

    @property
    def deadline_s(self) -> float | None:
        return self.deadlines.next_s

    def tick(self, now: Now) -> Step:
        """One timer after the other, because each may cancel others; the shell asks again while
        there are more. A step that writes is the last one, so that it can be refused alone."""
        steps: list[Step] = []
        for _ in range(_TIMERS_AT_ONCE):
            key = self.deadlines.take_next(now.loop_s)
            if key is None:
                break
            steps.append(self._time_is_up(key, now))
            if steps[-1].records:
                break
        return in_turn(*steps)

    def _time_is_up(self, key: tuple[str, ...], now: Now) -> Step:
        if key == _EXPIRY:
            return self._expire_offsets(now)
        if key[0] in DEADLINE_KINDS:
            return self.consumer_groups.time_is_up(key, now)
        if key[0] in both_protocols.DEADLINE_KINDS:
            return self._both.time_is_up(key, now)
        return self._classic.time_is_up(key, now)

    def tickets(self) -> list[Ticket]:
        return self._classic.tickets()

    # Expiry

    def _set_expiry(self, now: Now) -> None:
        interval_s = self.settings.offsets_retention_check_interval_ms / 1000
        self.deadlines.set(_EXPIRY, now.loop_s + interval_s)

    def _expire_offsets(self, now: Now) -> Step:
        if not self._expiry.is_under_way:
            self._expiry.begin()
        tombstones = self._expiry.look(self.settings, now)
        if self._expiry.is_under_way:
            self.deadlines.set(_EXPIRY, now.loop_s)
        else:
            self._set_expiry(now)
        return Step(tombstones, is_atomic=False)


_FIRST_DESCRIPTION_WITH_NOT_FOUND = 6
