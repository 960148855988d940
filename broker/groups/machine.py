"""One partition of `__consumer_offsets`: the groups that belong to it, and their offsets.

Requests come here by group id and are passed on to the group, if there is one. A group without
members and without a record of its own, of which only offsets are known, is no object: it is what
Kafka calls a simple consumer group.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket
from broker.groups import offset_requests, records
from broker.groups.consumer.groups import DEADLINE_KINDS, RECORD_KINDS, ConsumerGroups
from broker.groups.group import Group, GroupClient
from broker.groups.offsets import CommittedOffsets
from broker.groups.settings import GroupSettings
from broker.groups.topics_view import TopicsView
from broker.protocol import messages as m
from broker.protocol.errors import MalformedMessageError

_log = logging.getLogger(__name__)


class GroupMachine:
    """Implements `coordination.step.Machine`."""

    def __init__(self, settings: GroupSettings, topics: TopicsView) -> None:
        self.settings = settings
        self.topics = topics
        self.groups: dict[str, Group] = {}
        self.offsets = CommittedOffsets()
        self.deadlines: Deadlines[tuple[str, ...]] = Deadlines()
        """Keys begin with what they are for, such as `session`, and the group's id."""
        self.consumer_groups = ConsumerGroups(self.groups, settings, topics, self.deadlines)

    # Offsets

    def offset_commit(
        self, ticket: Ticket, body: m.OffsetCommitRequest, version: int, now: Now
    ) -> Step:
        """The handler has left out topics and partitions that do not exist."""
        group = self.groups.get(body.group_id)
        return offset_requests.offset_commit(
            self.offsets, group, self.settings, ticket, body, version, now
        )

    def offset_fetch(self, ticket: Ticket, body: m.OffsetFetchRequestGroup, now: Now) -> Step:
        """Replies with an OffsetFetchResponseGroup."""
        group = self.groups.get(body.group_id)
        return Step(
            replies=[Reply(ticket, offset_requests.offset_fetch(self.offsets, group, body))]
        )

    # Groups of the consumer protocol

    def consumer_group_heartbeat(
        self,
        ticket: Ticket,
        body: m.ConsumerGroupHeartbeatRequest,
        version: int,
        client: GroupClient,
        new_member_id: str,
        now: Now,
    ) -> Step:
        """`new_member_id` is for a member that brings no id of its own."""
        return self.consumer_groups.heartbeat(ticket, body, version, client, new_member_id, now)

    def consumer_group_describe(self, ticket: Ticket, group_ids: Sequence[str]) -> Step:
        """Replies with a list of ConsumerGroupDescribeResponseDescribedGroup."""
        described = [self.consumer_groups.describe(group_id) for group_id in group_ids]
        return Step(replies=[Reply(ticket, described)])

    # The metadata

    def topics_changed(self, changed: Sequence[str], deleted: Sequence[str], now: Now) -> Step:
        """Topics were created or have other partitions; others were deleted."""
        self.consumer_groups.topics_changed([*changed, *deleted])
        return Step()

    # What the shell asks

    def replay(self, record: CoordinatorRecord) -> None:
        try:
            kind, key = records.decode_key(record.key)
            value = None if record.value is None else records.decode_value(kind, record.value)
        except MalformedMessageError as problem:
            # Records of a newer broker, or of kinds of groups that are not offered here.
            _log.warning("a record of __consumer_offsets is left out: %s", problem)
            return
        self._replay(kind, key, value)

    def _replay(self, kind: int, key: Any, value: Any) -> None:
        match kind:
            case records.OFFSET_COMMIT:
                self.offsets.replay(key, value)
            case _ if kind in RECORD_KINDS:
                self.consumer_groups.replay(kind, key, value)
            case _:
                pass  # kinds of groups that are not offered here

    def loaded(self, now: Now) -> Step:
        self.consumer_groups.loaded(now)
        return Step()

    @property
    def deadline_s(self) -> float | None:
        return self.deadlines.next_s

    def tick(self, now: Now) -> Step:
        """One deadline at a time: the next one is judged by what this one has changed."""
        key = self.deadlines.take_one_due(now.loop_s)
        if key is not None and key[0] in DEADLINE_KINDS:
            return self.consumer_groups.due(key, now)
        return Step()

    def tickets(self) -> list[Ticket]:
        return []
