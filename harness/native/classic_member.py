"""A member of a group of the classic protocol: join, sync, heartbeat; eager or cooperative."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.assignors import (
    Claim,
    Slot,
    cooperative_assignment,
    range_assignment,
)
from harness.native.errors import ClientError, check
from harness.native.member import COME_BACK, NO_GENERATION, Member, MemberSettings

if TYPE_CHECKING:
    from harness.native.client import Client

_PROTOCOL_TYPE = "consumer"
_SUBSCRIPTION = "ConsumerProtocolSubscription"
_ASSIGNMENT = "ConsumerProtocolAssignment"
_FIRST_STATIC = {ApiKey.JOIN_GROUP: 5, ApiKey.SYNC_GROUP: 3, ApiKey.HEARTBEAT: 3}
"""First versions that carry a group.instance.id."""
_VERSION = 2
"""The first in which owned partitions say of which generation they are."""


class ClassicMember(Member):
    def __init__(
        self,
        client: Client,
        settings: MemberSettings,
        now_ns: Callable[[], int],
        *,
        is_cooperative: bool,
    ) -> None:
        super().__init__(client, settings, now_ns)
        self._is_cooperative = is_cooperative
        self._owned_since = NO_GENERATION
        """Generation of the last assignment, which a member that rejoins claims it by."""

    async def _keep_membership(self) -> None:
        if not self._is_cooperative:
            self.give_up("revoked")
        joined = await self._join()
        if joined is None:
            return
        assignment = await self._sync(joined)
        if assignment is None:
            return
        is_done = self._take(assignment)
        if is_done:
            await self._heartbeats()

    def _take(self, assignment: Sequence[Slot]) -> bool:
        """Whether there is nothing to give up: otherwise the others wait for another round."""
        gone = [slot for slot in self.held if slot not in assignment]
        self._owned_since = self.generation
        self.hold(assignment)
        return not gone

    # Join

    async def _join(self) -> m.JoinGroupResponse | None:
        settings = self.settings
        name = "cooperative-sticky" if self._is_cooperative else "range"
        body = m.JoinGroupRequest(
            group_id=settings.group,
            session_timeout_ms=int(settings.session_s * 1000),
            rebalance_timeout_ms=int(settings.max_poll_s * 1000),
            member_id=self.member_id,
            group_instance_id=settings.instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[m.JoinGroupRequestProtocol(name=name, metadata=self._subscription())],
        )
        # The answer comes when all members have joined, or their time is up.
        timeout_s = settings.max_poll_s + self.client.settings.request_timeout_s
        answer: m.JoinGroupResponse = await self._ask(ApiKey.JOIN_GROUP, body, timeout_s)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return None
        if not self._goes_on(answer.error_code, "join"):
            return None
        self.member_id = answer.member_id
        self.generation = answer.generation_id
        return answer

    def _subscription(self) -> bytes:
        owned = self.held if self._is_cooperative else []
        message = m.ConsumerProtocolSubscription(
            topics=list(self.settings.topics),
            owned_partitions=[
                m.ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=indexes)
                for topic, indexes in _by_topic(owned).items()
            ],
            generation_id=self._owned_since,
        )
        return _encoded(_SUBSCRIPTION, message)

    # Sync

    async def _sync(self, joined: m.JoinGroupResponse) -> list[Slot] | None:
        assignments: list[m.SyncGroupRequestAssignment] = []
        if joined.leader == self.member_id and not joined.skip_assignment:
            assignments = await self._assign(joined)
        body = m.SyncGroupRequest(
            group_id=self.settings.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=assignments,
        )
        timeout_s = self.settings.max_poll_s + self.client.settings.request_timeout_s
        answer: m.SyncGroupResponse = await self._ask(ApiKey.SYNC_GROUP, body, timeout_s)
        if not self._goes_on(answer.error_code, "sync"):
            return None
        message = _decoded(_ASSIGNMENT, answer.assignment)
        return [
            (each.topic, index)
            for each in (message.assigned_partitions if message is not None else ())
            for index in each.partitions
        ]

    async def _assign(self, joined: m.JoinGroupResponse) -> list[m.SyncGroupRequestAssignment]:
        claims = {each.member_id: _claim(each.metadata) for each in joined.members}
        topics = sorted({topic for claim in claims.values() for topic in claim.topics})
        counts = {topic: await self._partitions(topic) for topic in topics}
        deal = cooperative_assignment if self._is_cooperative else range_assignment
        return [
            m.SyncGroupRequestAssignment(member_id=member_id, assignment=_assignment(slots))
            for member_id, slots in deal(claims, counts).items()
        ]

    async def _partitions(self, topic: str) -> int:
        """0 for a topic that is not there yet."""
        metadata = self.client.metadata
        metadata.invalidate()
        try:
            await metadata.leader(topic, 0)
        except ClientError:
            if metadata.topic(topic) is None:
                return 0
        known = metadata.topic(topic)
        return 0 if known is None else len(known.partitions)

    # Heartbeats

    async def _heartbeats(self) -> None:
        """Until the group wants its members to join again, or this one is none of them."""
        settings = self.settings
        heard_at = self._loop.time()
        while True:
            await asyncio.sleep(settings.heartbeat_s)
            if self.polls_too_seldom and not self.has_outlived_session(heard_at):
                await self._rest()
                return
            body = m.HeartbeatRequest(
                group_id=settings.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=settings.instance_id,
            )
            try:
                answer = await self._ask(ApiKey.HEARTBEAT, body)
                if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                    return
                if not self._goes_on(answer.error_code, "heartbeat"):
                    return
                heard_at = self._loop.time()
            except ClientError:
                if self.has_outlived_session(heard_at):
                    self._begin_anew()
                    return

    async def _say_goodbye(self) -> None:
        if not self.member_id or self.settings.instance_id is not None:
            return  # a static member is expected back
        identity = m.MemberIdentity(member_id=self.member_id)
        body = m.LeaveGroupRequest(
            group_id=self.settings.group, member_id=self.member_id, members=[identity]
        )
        await self.coordinator.ask(ApiKey.LEAVE_GROUP, body, lane="leave")

    async def _ask(self, key: ApiKey, body: Any, timeout_s: float | None = None) -> Any:
        at_least = 0 if self.settings.instance_id is None else _FIRST_STATIC[key]
        return await self.coordinator.ask(
            key, body, lane="member", timeout_s=timeout_s, at_least=at_least
        )

    def _goes_on(self, code: int, what: str) -> bool:
        self.coordinator.heard(code)
        if code == ErrorCode.FENCED_INSTANCE_ID:
            self.is_fenced = True
            self.give_up("lost")
        elif code in COME_BACK:
            self._begin_anew()
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            return False
        else:
            check(code, place=f"{what} of {self.settings.group}")
            return True
        return False

    def _begin_anew(self) -> None:
        self.give_up("lost")
        self.member_id = ""
        self.generation = self._owned_since = NO_GENERATION


def _claim(metadata: bytes) -> Claim:
    message = _decoded(_SUBSCRIPTION, metadata)
    if message is None:
        return Claim(())
    owned = tuple(
        (each.topic, index) for each in message.owned_partitions for index in each.partitions
    )
    return Claim(tuple(message.topics), owned, message.generation_id)


def _assignment(slots: Iterable[Slot]) -> bytes:
    by_topic = _by_topic(slots)
    message = m.ConsumerProtocolAssignment(
        assigned_partitions=[
            m.ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=indexes)
            for topic, indexes in by_topic.items()
        ]
    )
    return _encoded(_ASSIGNMENT, message)


def _by_topic(slots: Iterable[Slot]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in sorted(slots):
        found.setdefault(topic, []).append(index)
    return found


def _encoded(name: str, message: object) -> bytes:
    body = b"".join(bytes(chunk) for chunk in codec.encoder(name, _VERSION)(message))
    return _VERSION.to_bytes(2, "big") + body


def _decoded(name: str, data: bytes) -> Any:
    """None for no bytes: a member that was given nothing."""
    if not data:
        return None
    version = min(int.from_bytes(data[:2], "big"), 3)
    message, _ = codec.decoder(name, version)(memoryview(data), 2)
    return message
