"""The consumer groups of one partition of `__consumer_offsets`, as its machine uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket
from broker.groups import records
from broker.groups.consumer import fencing, regexes
from broker.groups.consumer.around import KINDS, REBALANCE, REGEX, Around
from broker.groups.consumer.describe import describe
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.heartbeat import Outcome, join_or_stay, leave
from broker.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker.groups.group import Group, GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

RECORD_KINDS = frozenset(
    {
        records.CONSUMER_GROUP_METADATA,
        records.CONSUMER_GROUP_PARTITION_METADATA,
        records.CONSUMER_GROUP_MEMBER_METADATA,
        records.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
        records.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
        records.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        records.CONSUMER_GROUP_REGULAR_EXPRESSION,
    }
)
DEADLINE_KINDS = frozenset(KINDS)
_RETRY_S = 1.0


class ConsumerGroups:
    def __init__(
        self,
        groups: dict[str, Group],
        simple: dict[str, None],
        around: Around,
        new_uuid: Callable[[], str],
    ) -> None:
        """Other kinds of groups share `groups`, and `simple`: groups that exist without a state of
        their own, by their offsets."""
        self._groups = groups
        self._simple = simple
        self._new_uuid = new_uuid
        self.around = around

    def __iter__(self) -> Iterator[ConsumerGroup]:
        return (group for group in self._groups.values() if isinstance(group, ConsumerGroup))

    def find(self, group_id: str) -> ConsumerGroup:
        """Raises KafkaError(GROUP_ID_NOT_FOUND)."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        problem = "not found" if group is None else "is not a consumer group"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id} {problem}")

    # Requests

    def heartbeat(
        self,
        ticket: Ticket,
        request: m.ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        now: Now,
    ) -> Step:
        """The handler has checked what is wrong with the request by itself."""
        try:
            outcome = self._heartbeat(request, client, now)
        except KafkaError as problem:
            return Step(replies=[Reply(ticket, failed(problem.code, problem.message))])
        return Step(
            outcome.records,
            [Reply(ticket, outcome.response)],
            lambda code, _: Step(replies=[Reply(ticket, failed(code))]),
        )

    def _heartbeat(
        self, request: m.ConsumerGroupHeartbeatRequest, client: GroupClient, now: Now
    ) -> Outcome:
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return leave(self.find(request.group_id), request, now)
        if request.member_epoch != JOIN_EPOCH or request.group_id in self._groups:
            group = self.find(request.group_id)
        else:
            # Comes into being when its first records are replayed.
            group = ConsumerGroup(request.group_id, self.around)
        return join_or_stay(group, request, client, self._new_uuid, now)

    def join_converted(
        self,
        converted: Sequence[CoordinatorRecord],
        request: m.ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        now: Now,
    ) -> Outcome:
        """A join to a group that another one is being converted to. `converted` are its records,
        which are not written yet. Raises KafkaError."""
        scratch = ConsumerGroups({}, {}, self.around, self._new_uuid)
        for record in converted:
            kind, key = records.decode_key(record.key)
            scratch.replay(kind, key, records.decode_value(kind, record.value or b""))
        scratch.loaded(now)
        return scratch._heartbeat(request, client, now)

    def describe(self, group_id: str) -> m.ConsumerGroupDescribeResponseDescribedGroup:
        try:
            return describe(self.find(group_id))
        except KafkaError as problem:
            return m.ConsumerGroupDescribeResponseDescribedGroup(
                group_id=group_id, error_code=problem.code, error_message=problem.message
            )

    # What happens

    def loaded(self, now: Now) -> None:
        for group in self:
            group.loaded(now)

    def topics_changed(self, names: Sequence[str]) -> None:
        """Topics appeared, disappeared or have other partitions."""
        for name in names:
            self.around.hashes.forget(name)
        for group in self:
            group.regexes_are_stale = True
            if any(name in group.state.subscriptions for name in names):
                group.request_metadata_check()

    def all_topics_changed(self) -> None:
        """Any topic may be another one than before."""
        self.around.hashes.forget_all()
        for group in self:
            group.regexes_are_stale = True
            group.request_metadata_check()

    def time_is_up(self, key: tuple[str, ...], now: Now) -> Step:
        """A deadline of a group has come. Whatever it was for may be over long since."""
        kind, group_id = key[:2]
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return Step()
        found = self._due_records(group, kind, key[-1], now)
        return Step(found, refused=lambda _, later: self._retry(key, later)) if found else Step()

    def _due_records(
        self, group: ConsumerGroup, kind: str, member_id: str, now: Now
    ) -> list[CoordinatorRecord]:
        if kind == REGEX:
            return regexes.resolve_slice(group, now)
        member = group.state.members.get(member_id)
        if member is None or (kind == REBALANCE and not group.missed_its_revocation(member)):
            return []
        return fencing.fence(group, [member], now)

    def _retry(self, key: tuple[str, ...], now: Now) -> Step:
        self.around.deadlines.set(key, now.loop_s + _RETRY_S)
        return Step()

    # Replay

    def replay(self, kind: int, key: Any, value: Any) -> None:
        """A tombstone of an unknown group is none: compaction may have taken all before it."""
        group = self._groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return
            self._simple.pop(key.group_id, None)
            group = self._groups[key.group_id] = ConsumerGroup(key.group_id, self.around)
        state = group.state
        match kind:
            case records.CONSUMER_GROUP_METADATA if value is None:
                del self._groups[key.group_id]
            case records.CONSUMER_GROUP_METADATA:
                state.replay_epoch(value)
            case records.CONSUMER_GROUP_PARTITION_METADATA:
                state.replay_partition_metadata(value)
            case records.CONSUMER_GROUP_MEMBER_METADATA:
                state.replay_member(key.member_id, value)
                if value is None:
                    group.cancel_timers(key.member_id)
            case records.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
                state.replay_assignment_epoch(value)
            case records.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
                state.replay_target(key.member_id, value)
            case records.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
                state.replay_current(key.member_id, value)
            case records.CONSUMER_GROUP_REGULAR_EXPRESSION:
                state.replay_regex(key.regular_expression, value)
            case _:
                pass


def failed(code: ErrorCode, message: str | None = None) -> m.ConsumerGroupHeartbeatResponse:
    return m.ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)
