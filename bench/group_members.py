"""What a group with very many members costs its coordinator, by raw requests.

Every member has a connection of its own. They join at once; then one of them leaves, so that all
others join again; then all send heartbeats as fast as they are answered. Members run in this
process, so the CPU of the server says more than the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from struct import Struct
from typing import Any

from bench.measure import LoadError, cpu_s, rss_bytes
from bench.systems import System
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

GROUP = "large"
SUBSCRIPTION = b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0"
ASSIGNMENT = b"\0\1\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
PATIENCE_S = 120.0
_JOIN_AGAIN = frozenset({ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS})
_LENGTH = Struct(">i").unpack


@dataclass(frozen=True)
class Cost:
    seconds: float
    cpu_s: float
    """CPU time of the server."""
    count: int
    """Requests or members that the time was spent on."""

    @property
    def cpu_us_each(self) -> float:
        return self.cpu_s / self.count * 1e6


@dataclass(frozen=True)
class ManyMembers:
    """What a group of many members cost."""

    join: Cost
    rebalance: Cost
    heartbeats: Cost
    memory_bytes: int
    """Growth of the server's resident memory, from before the first join to the end."""


async def measure(system: System, count: int, seconds: float) -> ManyMembers:
    """`count` members, and heartbeats for so many seconds."""
    host, _, port = system.bootstrap.partition(":")
    members = [Member(host, int(port)) for _ in range(count)]
    await _in_groups(members, Member.connect)
    await members[0].find_coordinator()
    memory_before = rss_bytes(system.pids)

    async def cost(work: Callable[[], Awaitable[int]]) -> Cost:
        before_s, begun = cpu_s(system.pids), time.monotonic()
        done = await work()
        return Cost(time.monotonic() - begun, cpu_s(system.pids) - before_s, done)

    async def join() -> int:
        await asyncio.gather(*(each.take_part() for each in members))
        return count

    async def rebalance() -> int:
        await members.pop().leave()
        await asyncio.gather(*(each.take_part() for each in members))
        return count

    async def beat() -> int:
        until = time.monotonic() + seconds
        return sum(await asyncio.gather(*(each.beat_until(until) for each in members)))

    try:
        return ManyMembers(
            join=await cost(join),
            rebalance=await cost(rebalance),
            heartbeats=await cost(beat),
            memory_bytes=rss_bytes(system.pids) - memory_before,
        )
    finally:
        # The next round finds an empty group.
        await asyncio.gather(*(each.leave() for each in members))


async def _in_groups(members: list[Member], what: Callable[[Member], Awaitable[None]]) -> None:
    for first in range(0, len(members), 100):
        await asyncio.gather(*(what(each) for each in members[first : first + 100]))


class Member:
    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._member_id = ""
        self._generation = -1

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(*self._address, limit=1 << 24)

    def close(self) -> None:
        self._writer.close()

    async def find_coordinator(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        while time.monotonic() < deadline:
            found = await self._ask(ApiKey.FIND_COORDINATOR, 4, body)
            beat = m.HeartbeatRequest(group_id=GROUP, generation_id=0, member_id="nobody")
            known = await self._ask(ApiKey.HEARTBEAT, 4, beat)
            is_there = not found.coordinators[0].error_code
            if is_there and known.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                return
            await asyncio.sleep(0.1)
        raise LoadError("the group found no coordinator")

    async def take_part(self) -> None:
        """Joins until it has an assignment."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            body = m.JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=45_000,
                rebalance_timeout_ms=300_000,
                member_id=self._member_id,
                protocol_type="consumer",
                protocols=[m.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
            )
            joined = await self._ask(ApiKey.JOIN_GROUP, 9, body)
            self._member_id = joined.member_id
            if joined.error_code:
                assert joined.error_code in _JOIN_AGAIN, ErrorCode(joined.error_code)
                continue
            self._generation = joined.generation_id
            given = [
                m.SyncGroupRequestAssignment(member_id=each.member_id, assignment=ASSIGNMENT)
                for each in joined.members
            ]
            sync = m.SyncGroupRequest(
                group_id=GROUP,
                generation_id=self._generation,
                member_id=self._member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=given,
            )
            synced = await self._ask(ApiKey.SYNC_GROUP, 5, sync)
            if not synced.error_code:
                assert synced.assignment == ASSIGNMENT
                return
            assert synced.error_code in _JOIN_AGAIN, ErrorCode(synced.error_code)
        raise LoadError(f"a member was not assigned anything within {PATIENCE_S:.0f} s")

    async def leave(self) -> None:
        members = [m.MemberIdentity(member_id=self._member_id)]
        await self._ask(ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(group_id=GROUP, members=members))
        self.close()

    async def beat_until(self, until: float) -> int:
        body = m.HeartbeatRequest(
            group_id=GROUP, generation_id=self._generation, member_id=self._member_id
        )
        count = 0
        while time.monotonic() < until:
            answer = await self._ask(ApiKey.HEARTBEAT, 4, body)
            assert not answer.error_code, ErrorCode(answer.error_code)
            count += 1
        return count

    async def _ask(self, key: ApiKey, version: int, body: Any) -> Any:
        header = m.RequestHeader(
            api_key=key, api_version=version, correlation_id=7, client_id="bench"
        )
        frame = frames.request_frame(header, codec.encode_request(key, version, body))
        self._writer.write(b"".join(frame))
        (length,) = _LENGTH(await self._reader.readexactly(4))
        answer = memoryview(await self._reader.readexactly(length))
        _, at = frames.decode_response_header(key, version, answer)
        response, _ = codec.decode_response(key, version, answer, at)
        return response
