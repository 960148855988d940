"""A client of a run as a member of a consumer group: it polls, commits, stalls, leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from harness.native.assignors import Slot
from harness.native.classic_member import ClassicMember
from harness.native.client import Client
from harness.native.coordinator import CommitRefusedError
from harness.native.epoch_member import EpochMember
from harness.native.errors import ClientError
from harness.native.member import Member, MemberSettings
from harness.native.reader import FetchSettings
from harness.schedule.schedule import Operation
from harness.sim.operations import TOPIC
from harness.sim.record import GroupCommit, Record

_FETCH = FetchSettings(max_wait_s=0.1, timeout_s=5.0)
_POLL_S = 0.5


class MemberActor:
    """At most one member at a time."""

    def __init__(
        self, name: str, client: Client, record: Record, now_ns: Callable[[], int]
    ) -> None:
        self._name = name
        self._client = client
        self._record = record
        self._now_ns = now_ns
        self._member: Member | None = None
        self._count = 0

    async def join(self, operation: Operation) -> None:
        await self.leave(operation)
        arguments = operation.arguments
        settings = MemberSettings(
            group=arguments["group"], topics=(TOPIC,), instance_id=arguments.get("instance")
        )
        self._count += 1
        if arguments["strategy"] == "consumer":
            self._member = EpochMember(
                self._client, settings, self._now_ns, member_id=f"{self._name}-{self._count}"
            )
        else:
            self._member = ClassicMember(
                self._client,
                settings,
                self._now_ns,
                is_cooperative=arguments["strategy"] == "cooperative",
            )
        self._member.start()

    async def leave(self, operation: Operation) -> None:
        member, self._member = self._member, None
        if member is not None:
            await member.leave()

    async def stop(self) -> None:
        """At once: the group finds out by itself."""
        member, self._member = self._member, None
        if member is not None:
            await member.stop()

    async def consume(self, operation: Operation) -> None:
        member = self._member
        if member is not None:
            given = await self._poll(member)
            await self._commit(member, given, member.generation)

    async def stall(self, operation: Operation) -> None:
        """Between a poll and its commit, heartbeats included, as a stopped process is."""
        member = self._member
        if member is None:
            return
        given = await self._poll(member)
        generation = member.generation
        await member.stop()
        await asyncio.sleep(operation.arguments["for_ms"] / 1000)
        await self._commit(member, given, generation)
        member.start()

    async def _poll(self, member: Member) -> dict[Slot, int]:
        """By partition, the offset behind the last record that the member was given."""
        deadline = asyncio.get_running_loop().time() + _POLL_S
        try:
            found = await member.poll(_FETCH, deadline)
        except ClientError:
            return {}
        self._record.delivered += sum(len(records) for records in found.values())
        return {slot: records[-1].offset + 1 for slot, records in found.items() if records}

    async def _commit(self, member: Member, given: Mapping[Slot, int], generation: int) -> None:
        if not given:
            return
        attempts = [
            GroupCommit(member.settings.group, partition, offset)
            for (_, partition), offset in given.items()
        ]
        self._record.group_commits += attempts
        try:
            await member.coordinator.commit(
                given,
                generation=generation,
                member_id=member.member_id,
                instance_id=member.settings.instance_id,
            )
        except CommitRefusedError:
            for each in attempts:
                each.is_refused = True
        except ClientError:
            pass  # it may have been kept all the same
        else:
            for each in attempts:
                each.is_acknowledged = True
