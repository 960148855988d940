"""What a group with very many members costs its coordinator: ours and Apache Kafka's.

Every member has a connection of its own. They join at once; then one of them leaves, so that all
others join again; then all send heartbeats as fast as they are answered. Clients run in this
process, so the figure to compare is the CPU of the server, not the time.

.venv/bin/python bench/group_members.py [--members N] [--seconds S]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from struct import Struct
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.measure import cpu_s
from bench.systems import Apache, OurBroker, System
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

GROUP = "g"
SUBSCRIPTION = b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0"
ASSIGNMENT = b"\0\1\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
_LENGTH = Struct(">i").unpack


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--systems", nargs="+", default=["ours", "kafka"])
    arguments = parser.parse_args(argv)
    cpus = frozenset(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="group-members-") as home:
        for name in arguments.systems:
            make: Any = OurBroker if name == "ours" else Apache
            system: System = make(Path(home) / name, cpus)
            try:
                asyncio.run(_measure(system, arguments.members, arguments.seconds))
            finally:
                system.stop()


async def _measure(system: System, count: int, seconds: float) -> None:
    host, _, port = system.bootstrap.partition(":")
    members = [Member(host, int(port)) for _ in range(count)]
    await _in_groups(members, Member.connect)
    await members[0].find_coordinator()

    async def timed(what: str, work: Callable[[], Awaitable[int]]) -> None:
        before_s, begun = cpu_s(system.pids), time.monotonic()
        done = await work()
        used_s, took_s = cpu_s(system.pids) - before_s, time.monotonic() - begun
        print(
            f"{system.name}: {what}: {took_s:.2f} s, {used_s:.2f} s of the server's CPU, "
            f"{used_s / done * 1e6:.0f} us for each of {done}",
            flush=True,
        )

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

    await timed("all join an empty group", join)
    await timed("one leaves and all join again", rebalance)
    await timed("heartbeats", beat)
    for each in members:
        each.close()


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
        deadline = time.monotonic() + 60
        body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        while time.monotonic() < deadline:
            found = await self._ask(ApiKey.FIND_COORDINATOR, 4, body)
            beat = m.HeartbeatRequest(group_id=GROUP, generation_id=0, member_id="nobody")
            known = await self._ask(ApiKey.HEARTBEAT, 4, beat)
            is_there = not found.coordinators[0].error_code
            if is_there and known.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                return
            await asyncio.sleep(0.1)
        raise SystemExit("the group found no coordinator")

    async def take_part(self) -> None:
        """Joins until it has an assignment."""
        while True:
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


if __name__ == "__main__":
    main()
