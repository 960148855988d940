"""Groups whose members change from one protocol to the other while they run (KIP-848).

A classic group becomes a consumer group when the first member of the consumer protocol joins it,
and a consumer group becomes a classic one when the last such member is gone. In between, members of
both protocols share a consumer group. `group.consumer.migration.policy` says which way is open. A
group without members becomes what its next member needs, whatever the policy.

A conversion is one batch: the tombstones of the one group and the records of the other. Requests of
either protocol come here first, because only here it is known which kind of group they are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket, reply
from broker.groups.classic import answers, rebalance, sessions
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.groups import ClassicGroups
from broker.groups.classic.state import State
from broker.groups.consumer import classic_members
from broker.groups.consumer.classic_members import MemberIdRequiredError
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.groups import ConsumerGroups, failed
from broker.groups.consumer.member import JOIN_EPOCH, Member
from broker.groups.conversion import to_classic_group, to_consumer_group
from broker.groups.group import Group, GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

DOWNGRADED = "downgraded"
DOWNGRADED_QUIETLY = "downgraded quietly"
DEADLINE_KINDS = frozenset({DOWNGRADED, DOWNGRADED_QUIETLY})
"""A group has become a classic one: its members' sessions begin, and a rebalance, if needed."""

_UPGRADE = ("upgrade", "bidirectional")
_DOWNGRADE = ("downgrade", "bidirectional")
_DISABLED = "disabled"


class GroupsOfBothProtocols:
    def __init__(
        self, groups: dict[str, Group], classic: ClassicGroups, consumer: ConsumerGroups
    ) -> None:
        self._groups = groups
        self._classic = classic
        self._consumer = consumer
        self._settings = classic.context.settings
        self._policy = self._settings.group_consumer_migration_policy.lower()
        consumer.around.downgrade = self._downgrade_after

    # Members of the consumer protocol

    def consumer_heartbeat(
        self,
        ticket: Ticket,
        body: m.ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        now: Now,
    ) -> Step:
        group = self._groups.get(body.group_id)
        if isinstance(group, ClassicGroup) and body.member_epoch == JOIN_EPOCH:
            try:
                return self._upgrade(group, ticket, body, client, now)
            except KafkaError as problem:
                return reply(ticket, failed(problem.code, problem.message))
        return self._consumer.heartbeat(ticket, body, client, now)

    def _upgrade(
        self,
        group: ClassicGroup,
        ticket: Ticket,
        body: m.ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        now: Now,
    ) -> Step:
        converted: list[CoordinatorRecord] = []
        if group.state is not State.EMPTY:
            self._check_upgrade(group)
            converted = to_consumer_group(group, self._consumer.around, body.instance_id)
        joined = self._consumer.join_converted(converted, body, client, now)
        # Whoever waits for a rebalance of the old kind is told to begin another one.
        code = ErrorCode.REBALANCE_IN_PROGRESS
        waiting = [(each, each.join, each.sync) for each in group.members]
        replies: list[Reply] = []
        for member in group.members:
            error = answers.join_error(code, member.member_id)
            replies += group.members.answer_join(member, error)
            replies += group.members.answer_sync(member, answers.sync_error(code))

        def refused(code: ErrorCode, now: Now) -> Step:
            for member, join, sync in waiting:
                if join is not None:
                    group.members.park_join(member, join)
                if sync is not None:
                    group.members.park_sync(member, sync)
            return reply(ticket, failed(code))

        records = [*group.tombstones(), *converted, *joined.records]
        return Step(records, [*replies, Reply(ticket, joined.response)], refused)

    def _check_upgrade(self, group: ClassicGroup) -> None:
        why = ""
        if self._policy not in _UPGRADE:
            why = "online upgrade is disabled"
        elif group.protocol_type != "consumer":
            why = "the group does not use the consumer embedded protocol"
        elif len(group.members) > self._settings.group_consumer_max_size:
            why = "the group size exceeds the consumer group maximum size"
        if why:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"cannot upgrade classic group {group.group_id} to consumer group because {why}",
            )

    # Members of the classic protocol

    def join(
        self, ticket: Ticket, body: m.JoinGroupRequest, version: int, client: GroupClient, now: Now
    ) -> Step:
        group = self._consumer_group(body.group_id)
        if group is None:
            return self._classic.join(ticket, body, version, client, now)
        try:
            return self._join_consumer_group(group, ticket, body, version, client, now)
        except KafkaError as problem:
            return reply(ticket, answers.join_error(problem.code, body.member_id))
        except MemberIdRequiredError as required:
            code = ErrorCode.MEMBER_ID_REQUIRED
            return reply(ticket, answers.join_error(code, required.member_id))

    def _join_consumer_group(
        self,
        group: ConsumerGroup,
        ticket: Ticket,
        body: m.JoinGroupRequest,
        version: int,
        client: GroupClient,
        now: Now,
    ) -> Step:
        self._classic.check_session_timeout(body.session_timeout_ms)
        if self._policy == _DISABLED:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"cannot join the consumer group {group.group_id} with the classic protocol "
                "because the group migration is disabled",
            )

        def refused(code: ErrorCode, now: Now) -> Step:
            return reply(ticket, answers.join_error(code, body.member_id))

        existing = group.state.static_member(body.group_instance_id)
        if existing is not None and not body.member_id and self._may_downgrade(group, [existing]):
            records, response = self._replaced_by_classic(
                group, existing, body, version, client, now
            )
        else:
            new_uuid = self._classic.context.new_uuid
            joined = classic_members.join(group, body, version, client, new_uuid, now)
            records, response = joined.records, joined.response()
        return Step(records, [Reply(ticket, response)], refused)

    def sync(self, ticket: Ticket, body: m.SyncGroupRequest, now: Now) -> Step:
        group = self._consumer_group(body.group_id)
        if group is None:
            return self._classic.sync(ticket, body, now)
        try:
            return reply(ticket, classic_members.sync(group, body, now))
        except KafkaError as problem:
            return reply(ticket, answers.sync_error(problem.code))

    def heartbeat(self, ticket: Ticket, body: m.HeartbeatRequest, now: Now) -> Step:
        group = self._consumer_group(body.group_id)
        if group is None:
            return self._classic.heartbeat(ticket, body, now)
        try:
            return reply(ticket, classic_members.heartbeat(group, body, now))
        except KafkaError as problem:
            return reply(ticket, m.HeartbeatResponse(error_code=problem.code))

    def leave(self, ticket: Ticket, body: m.LeaveGroupRequest, now: Now) -> Step:
        group = self._consumer_group(body.group_id)
        if group is None:
            return self._classic.leave(ticket, body, now)
        records, response = classic_members.leave(group, body, now)
        return Step(
            records,
            [Reply(ticket, response)],
            lambda code, now: reply(ticket, answers.leave_error(code)),
        )

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """The consumer group with members that a request of the classic protocol is for."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) and group.state.members else None

    # Downgrade

    def _may_downgrade(self, group: ConsumerGroup, leaving: Sequence[Member]) -> bool:
        """Whether all others speak the classic protocol, and the group may become theirs."""
        gone = {member.member_id for member in leaving}
        state = group.state
        others = len(state.members) - len(gone)
        classic = state.classic_members - sum(each.uses_classic_protocol for each in leaving)
        is_last = classic == others and any(not each.uses_classic_protocol for each in leaving)
        return is_last and self._policy in _DOWNGRADE and others <= self._settings.group_max_size

    def _downgrade_after(
        self, group: ConsumerGroup, leaving: Sequence[Member], now: Now
    ) -> list[CoordinatorRecord] | None:
        gone = {member.member_id for member in leaving}
        stay = [each for each in group.state.members.values() if each.member_id not in gone]
        if not stay or not self._may_downgrade(group, leaving):
            return None
        record, _ = to_classic_group(group, stay, self._classic.context, now)
        group.around.deadlines.set((DOWNGRADED, group.group_id), now.loop_s)
        return [*group.tombstones(), record]

    def _replaced_by_classic(
        self,
        group: ConsumerGroup,
        existing: Member,
        body: m.JoinGroupRequest,
        version: int,
        client: GroupClient,
        now: Now,
    ) -> tuple[list[CoordinatorRecord], m.JoinGroupResponse]:
        """The last member of the consumer protocol, a static one, comes back as a classic one. It
        gets its partitions without a rebalance, if everybody has what the target says."""
        member_id = f"{body.group_instance_id}-{self._classic.context.new_uuid()}"
        classic_members.check_join(group, body, body.member_id)
        successor = replace(existing, member_id=member_id)
        successor, _ = classic_members.joining_member(group, successor, body, version, client)
        others = [each for each in group.state.members.values() if each is not existing]
        record, protocol = to_classic_group(group, [successor, *others], self._classic.context, now)
        is_settled = group.state.epoch == group.state.assignment_epoch and all(
            each.is_reconciled_to(group.state.epoch) for each in others
        )
        is_quiet = is_settled and successor.topic_names == group.state.subscriptions.topics_of(
            existing
        )
        kind = DOWNGRADED_QUIETLY if is_quiet else DOWNGRADED
        group.around.deadlines.set((kind, group.group_id), now.loop_s)
        return [*group.tombstones(), record], m.JoinGroupResponse(
            generation_id=group.state.epoch,
            protocol_type="consumer",
            protocol_name=protocol,
            leader="",
            member_id=member_id,
            members=[],
        )

    def time_is_up(self, key: tuple[str, ...], now: Now) -> Step:
        """Right after a downgrade was written. If it was refused, the group is none of ours."""
        group = self._classic.find(key[1])
        if group is None or group.state is not State.STABLE:
            return Step()
        step = sessions.restart_sessions(group, now)
        if key[0] == DOWNGRADED and group.state is State.STABLE:
            return rebalance.prepare(group, now)
        return step
