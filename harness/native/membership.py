"""Our own client as a member of a consumer group, with every strategy.

Its commits are attempted once, so it knows more than a library tells: one that was refused is
certainly not committed. Each commit carries the generation (or member epoch) that the member had
when it was asked to commit, which is the one in the history; an automatic commit carries that of
its own time. Where no time for automatic commits is given, commits are sent in the background, one
by one, instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial

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
from harness.native.transaction_requests import GroupClaim


class NativeMembership:
    """At most one member at a time, of one client."""

    def __init__(
        self,
        client: Client,
        fetch: FetchSettings,
        now_ns: Callable[[], int],
        *,
        poll_s: float,
        auto_commit_s: float | None = None,
    ) -> None:
        self._client = client
        self._fetch = fetch
        self._now_ns = now_ns
        self._poll_s = poll_s
        self._member: Member | None = None
        self._notices: list[Notice] = []
        self._ended: list[Committed] = []
        self._commits: dict[asyncio.Task[object], None] = {}
        self._count = 0
        self._auto_commit_s = auto_commit_s
        self._is_auto = False
        self._stored: dict[str, int] = {}
        """Offsets by key that wait for the next automatic commit."""

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
        self._member.on_given_up = self._forget
        self._member.start()
        self._is_auto = subscription.commits == "auto" and self._auto_commit_s is not None
        if self._is_auto:
            self._in_background(self._commit_now_and_then(self._auto_commit_s or 0.0))
            return subscription
        commits: Commits = subscription.commits
        if commits == "auto":
            commits = "async"
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
        self._stored.clear()

    def membership(self) -> Membership:
        member = self._member
        if member is None or member.generation < 0:
            return Membership()
        return Membership(member.generation, member.member_id or None)

    @property
    def is_member(self) -> bool:
        """Whether it has subscribed."""
        return self._member is not None

    def claim(self) -> GroupClaim:
        """As whom a transaction commits offsets for the group."""
        member = self._joined()
        settings = member.settings
        return GroupClaim(settings.group, member.generation, member.member_id, settings.instance_id)

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
        await self._commit_as(member, member.generation, member.member_id, offsets)

    async def _commit_as(
        self, member: Member, generation: int, member_id: str, offsets: Mapping[str, int]
    ) -> None:
        try:
            await member.coordinator.commit(
                {_slot(key): offset for key, offset in offsets.items()},
                generation=generation,
                member_id=member_id,
                instance_id=member.settings.instance_id,
                at_least=member.commit_at_least,
            )
        except ClientError as error:
            raise driver_error(error) from error

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        member = self._joined()
        if self._is_auto:
            self._stored |= offsets
            return
        commit = partial(
            self._commit_as, member, member.generation, member.member_id, dict(offsets)
        )
        self._in_background(self._commit_in_task(commit, dict(offsets)))

    def _in_background(self, work: Coroutine[None, None, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._commits[task] = None
        task.add_done_callback(lambda done: self._commits.pop(done, None))

    async def _commit_in_task(
        self, commit: Callable[[], Awaitable[None]], offsets: Mapping[str, int]
    ) -> bool:
        problem = None
        try:
            await commit()
        except DriverError as error:
            problem = error
        self._ended.append(Committed(self._now_ns(), offsets, problem))
        return problem is None

    async def _commit_now_and_then(self, every_s: float) -> None:
        """What was not committed is stored still, and goes with the next commit."""
        while True:
            await asyncio.sleep(every_s)
            offsets = dict(self._stored)
            if offsets and await self._commit_in_task(partial(self.commit, offsets), offsets):
                later = {key: at for key, at in self._stored.items() if offsets.get(key) != at}
                self._stored = later

    def _forget(self, slots: Sequence[Slot]) -> None:
        """Of a partition that was taken away nothing is committed: it may be another's by now."""
        for slot in slots:
            self._stored.pop(_key(slot), None)

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
