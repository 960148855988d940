"""A member of a group of the new protocol (KIP-848): heartbeats; the broker assigns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.assignors import Slot
from harness.native.errors import ClientError, check
from harness.native.member import COME_BACK, Member, MemberSettings

if TYPE_CHECKING:
    from harness.native.client import Client

_JOIN = 0
_LEAVE = -1
_LEAVE_FOR_A_WHILE = -2
_FIRST_COMMIT_WITH_EPOCH = 9


class EpochMember(Member):
    """`generation` is its member epoch."""

    def __init__(
        self,
        client: Client,
        settings: MemberSettings,
        now_ns: Callable[[], int],
        *,
        member_id: str,
    ) -> None:
        super().__init__(client, settings, now_ns)
        client.metadata.need_ids()
        self.commit_at_least = _FIRST_COMMIT_WITH_EPOCH
        self.member_id = member_id
        self.generation = _JOIN
        self._reported: list[Slot] | None = None
        """What the coordinator knows it to hold; None before the first heartbeat is answered."""
        self._heard_at = self._loop.time()
        self._interval_s = settings.heartbeat_s

    async def _keep_membership(self) -> None:
        if self.polls_too_seldom and not self.has_outlived_session(self._heard_at):
            await self._rest()
        try:
            answer = await self._heartbeat(self.generation)
        except ClientError:
            if self.has_outlived_session(self._heard_at):
                self._begin_anew()
            raise
        self.coordinator.heard(answer.error_code)
        if answer.error_code == ErrorCode.FENCED_INSTANCE_ID:
            self.is_fenced = True
            self.give_up("lost")
            return
        if answer.error_code in COME_BACK:
            self._begin_anew()
            return
        check(answer.error_code, answer.error_message, place=f"member of {self.settings.group}")
        self._heard_at = self._loop.time()
        self._interval_s = answer.heartbeat_interval_ms / 1000
        if await self._take(answer):
            return  # the coordinator waits to hear what was given up or taken
        await asyncio.sleep(self._interval_s)

    async def _take(self, answer: m.ConsumerGroupHeartbeatResponse) -> bool:
        """Whether what it holds has changed."""
        before = self.held
        wanted = None
        if answer.assignment is not None:
            wanted = await self._named(answer.assignment)
            self.give_up("revoked", [slot for slot in before if slot not in wanted])
        self.generation = answer.member_epoch
        if wanted is not None:
            self.hold(wanted)
        return self.held != before

    async def _named(self, assignment: m.ConsumerGroupHeartbeatResponseAssignment) -> list[Slot]:
        found: list[Slot] = []
        for each in assignment.topic_partitions:
            name = self.client.metadata.topic_name(each.topic_id)
            if name is None:
                for topic in self.settings.topics:
                    self.client.metadata.invalidate()
                    await self.client.metadata.leader(topic, 0)
                name = self.client.metadata.topic_name(each.topic_id)
            if name is not None:
                found += [(name, index) for index in each.partitions]
        return found

    async def _heartbeat(self, epoch: int) -> m.ConsumerGroupHeartbeatResponse:
        settings, is_join = self.settings, epoch == _JOIN
        held = [] if is_join else self.held
        body = m.ConsumerGroupHeartbeatRequest(
            group_id=settings.group,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=settings.instance_id,
            rebalance_timeout_ms=int(settings.max_poll_s * 1000) if is_join else -1,
            subscribed_topic_names=list(settings.topics) if is_join else None,
            topic_partitions=None if held == self._reported and not is_join else self._owned(held),
        )
        answer: m.ConsumerGroupHeartbeatResponse = await self.coordinator.ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, body, lane="member"
        )
        if answer.error_code == ErrorCode.NONE:
            self._reported = held
        return answer

    def _owned(self, held: list[Slot]) -> list[m.ConsumerGroupHeartbeatRequestTopicPartitions]:
        by_topic: dict[str, list[int]] = {}
        for topic, index in held:
            by_topic.setdefault(topic, []).append(index)
        return [
            m.ConsumerGroupHeartbeatRequestTopicPartitions(
                topic_id=self.client.metadata.topic_id(topic), partitions=indexes
            )
            for topic, indexes in by_topic.items()
        ]

    async def _say_goodbye(self) -> None:
        if self.generation > _JOIN:
            is_static = self.settings.instance_id is not None
            await self._heartbeat(_LEAVE_FOR_A_WHILE if is_static else _LEAVE)

    def _begin_anew(self) -> None:
        self.give_up("lost")
        self.generation = _JOIN
        self._reported = None
        self._heard_at = self._loop.time()
