"""Our own client as a member of a consumer group, with every strategy.

Its commits are attempted once, so it knows more than a library tells: one that was refused is
certainly not committed. The timer of other libraries' automatic commits has no like here; such
commits are sent in the background, one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from harness.client.driver import DriverError, Polled, Read, place_of
from harness.client.group_driver import Commits, Committed, Membership, Notice, Subscription
from harness.native.assignors import Slot
from harness.native.classic_member import ClassicMember
from harness.native.client import Client
from harness.native.driver_errors import driver_error
from harness.native.epoch_member import EpochMember
from harness.native.errors import ClientError
from harness.native.member import Member, MemberSettings
from harness.native.reader import FetchSettings


class NativeMembership:
    """At most one member at a time, of one client."""

    def __init__(
        self, client: Client, fetch: FetchSettings, now_ns: Callable[[], int], *, poll_s: float
    ) -> None:
        self._client = client
        self._fetch = fetch
        self._now_ns = now_ns
        self._poll_s = poll_s
        self._member: Member | None = None
        self._notices: list[Notice] = []
        self._ended: list[Committed] = []
        self._commits: dict[asyncio.Task[None], None] = {}
        self._count = 0

    async def subscribe(self, subscription: Subscription) -> Subscription:
        await self.leave()
        settings = MemberSettings(
            group=subscription.group,
            topics=subscription.topics,
            instance_id=subscription.instance,
        )
        self._count += 1
        if subscription.strategy == "consumer":
            name = f"{self._client.settings.client_id}-{self._count}"
            self._member = EpochMember(self._client, settings, self._now_ns, member_id=name)
        else:
            self._member = ClassicMember(
                self._client,
                settings,
                self._now_ns,
                is_cooperative=subscription.strategy == "cooperative",
            )
        self._member.start()
        commits: Commits = "sync" if subscription.commits == "sync" else "async"
        return replace(subscription, commits=commits)

    async def leave(self) -> None:
        member = self._member
        if member is not None:
            await self._end_commits()
            await member.leave()
            self._collect(member)
            self._member = None

    async def stop(self) -> None:
        """At once: the group finds out by itself."""
        await self._end_commits()
        if self._member is not None:
            await self._member.stop()

    async def _end_commits(self) -> None:
        commits = list(self._commits)
        for task in commits:
            task.cancel()
        await asyncio.gather(*commits, return_exceptions=True)

    def membership(self) -> Membership:
        member = self._member
        if member is None or member.generation < 0:
            return Membership()
        return Membership(member.generation, member.member_id or None)

    async def poll(self) -> Polled:
        deadline = asyncio.get_running_loop().time() + self._poll_s
        try:
            found = await self._joined().poll(self._fetch, deadline)
        except ClientError as error:
            return Polled(error=driver_error(error))
        return Polled(
            {
                _key(slot): [
                    Read(each.offset, each.key, each.value, each.timestamp_ms) for each in records
                ]
                for slot, records in found.items()
            }
        )

    async def commit(self, offsets: Mapping[str, int]) -> None:
        member = self._joined()
        try:
            await member.coordinator.commit(
                {_slot(key): offset for key, offset in offsets.items()},
                generation=member.generation,
                member_id=member.member_id,
                instance_id=member.settings.instance_id,
                at_least=member.commit_at_least,
            )
        except ClientError as error:
            raise driver_error(error) from error

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        self._joined()
        task = asyncio.get_running_loop().create_task(self._commit_in_task(dict(offsets)))
        self._commits[task] = None
        task.add_done_callback(lambda done: self._commits.pop(done, None))

    async def _commit_in_task(self, offsets: Mapping[str, int]) -> None:
        problem = None
        try:
            await self.commit(offsets)
        except DriverError as error:
            problem = error
        self._ended.append(Committed(self._now_ns(), offsets, problem))

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        coordinator = self._joined().coordinator
        slots = [_slot(key) for key in keys]
        try:
            found = await self._client.retried(lambda: coordinator.committed(slots))
        except ClientError as error:
            raise driver_error(error) from error
        return {_key(slot): offset for slot, offset in found.items()}

    def notices(self) -> list[Notice]:
        if self._member is not None:
            self._collect(self._member)
        notices, self._notices = self._notices, []
        return notices

    def committed_since(self) -> list[Committed]:
        ended, self._ended = self._ended, []
        return ended

    def _collect(self, member: Member) -> None:
        self._notices += [
            Notice(each.time_ns, each.change, [_key(slot) for slot in each.slots], each.generation)
            for each in member.take_changes()
        ]

    def _joined(self) -> Member:
        if self._member is None:
            raise DriverError("_STATE", "the client has not subscribed", harmless=True)
        return self._member


def _slot(key: str) -> Slot:
    place = place_of(key)
    return place.topic, place.partition


def _key(slot: Slot) -> str:
    return f"{slot[0]}-{slot[1]}"
