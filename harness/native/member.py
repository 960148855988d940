"""A member of a consumer group, whichever protocol it speaks: what it holds, and where it reads.

A member has one task of its own, which keeps its membership. Polls read what it holds at the
moment; a fetch whose partition was taken away meanwhile returns nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from broker.protocol.errors import ErrorCode
from harness.native.assignors import Slot
from harness.native.coordinator import GroupCoordinator
from harness.native.errors import ClientError, OffsetOutOfRangeError
from harness.native.paging import Pages
from harness.native.reader import EARLIEST, FetchSettings, Reader
from harness.native.records import ReadRecord

if TYPE_CHECKING:
    from harness.native.client import Client

Change = Literal["assigned", "revoked", "lost"]
NO_GENERATION = -1
_FIRST_STATIC_COMMIT = 7

COME_BACK = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)
"""The group has gone on without this member: what it held is lost, and it joins anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    group: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    session_s: float = 6.0
    heartbeat_s: float = 1.0
    max_poll_s: float = 8.0
    """A member that polls more seldom leaves its group."""
    backoff_s: float = 0.1


class OwnershipChange(NamedTuple):
    time_ns: int
    change: Change
    slots: tuple[Slot, ...]
    generation: int


class Member:
    """Subclasses join and stay in `_keep_membership`, and leave in `_say_goodbye`."""

    def __init__(self, client: Client, settings: MemberSettings, now_ns: Callable[[], int]) -> None:
        self.client = client
        self.settings = settings
        self.coordinator = GroupCoordinator(client, settings.group)
        self.commit_at_least = 0 if settings.instance_id is None else _FIRST_STATIC_COMMIT
        """First version of OffsetCommit that can say who commits."""
        self.member_id = ""
        self.generation = NO_GENERATION
        self.is_fenced = False
        """Another process has its group.instance.id: this one is over."""
        self.on_given_up: Callable[[Sequence[Slot]], None] = lambda slots: None
        """Called when it holds these no longer."""
        self._now_ns = now_ns
        self._loop = asyncio.get_running_loop()
        self._reader: Reader = client.reader()
        self._pages = Pages(self._reader)
        self._positions: dict[Slot, int | None] = {}
        """What it holds; None where its position is to be asked for."""
        self._held_since: dict[Slot, int] = {}
        """Number of the assignment of what it holds. A partition that was taken away and came back
        during a fetch has another one, and another member may have read and committed meanwhile."""
        self._assignments = 0
        self._changes: list[OwnershipChange] = []
        self._turn = 0
        self._polled_at = self._loop.time()
        self._polled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """At once, without a word to the group."""
        self._pages.close()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def leave(self) -> None:
        await self.stop()
        self.give_up("revoked")
        await self._try_goodbye()

    async def _try_goodbye(self) -> None:
        with suppress(ClientError):  # without a goodbye its session ends by itself
            await self._say_goodbye()

    async def _rest(self) -> None:
        """The application polls too seldom: the others take over, until it polls again."""
        self.give_up("lost")
        await self._try_goodbye()
        self._begin_anew()
        await self.until_polled()

    async def _run(self) -> None:
        while not self.is_fenced:
            try:
                await self._keep_membership()
            except ClientError:
                await asyncio.sleep(self.settings.backoff_s)

    async def _keep_membership(self) -> None:
        raise NotImplementedError

    async def _say_goodbye(self) -> None:
        raise NotImplementedError

    def _begin_anew(self) -> None:
        """What it held is lost, and it joins as a new member."""
        raise NotImplementedError

    # What it holds

    @property
    def held(self) -> list[Slot]:
        return sorted(self._positions)

    def take_changes(self) -> list[OwnershipChange]:
        changes, self._changes = self._changes, []
        return changes

    def hold(self, slots: Iterable[Slot], *, change: Change = "revoked") -> None:
        """From now on it holds these: first what is not among them is given up."""
        wanted = sorted(slots)
        self.give_up(change, [slot for slot in self.held if slot not in wanted])
        new = [slot for slot in wanted if slot not in self._positions]
        self._assignments += 1
        self._positions |= dict.fromkeys(new)
        self._held_since |= dict.fromkeys(new, self._assignments)
        self._note("assigned", new)

    def give_up(self, change: Change, slots: Sequence[Slot] | None = None) -> None:
        gone = self.held if slots is None else list(slots)
        self._note(change, gone)
        for slot in gone:
            del self._positions[slot], self._held_since[slot]
            self._pages.forget(*slot)
        self.on_given_up(gone)

    def _note(self, change: Change, slots: Sequence[Slot]) -> None:
        if slots:
            noted = OwnershipChange(self._now_ns(), change, tuple(slots), self.generation)
            self._changes.append(noted)

    # Reading

    @property
    def polls_too_seldom(self) -> bool:
        return self._loop.time() - self._polled_at > self.settings.max_poll_s

    def has_outlived_session(self, heard_at: float) -> bool:
        """Whether the group may have removed it since it heard of the coordinator, at `heard_at`.

        A process that was paused finds so when it continues. Its application was paused as well,
        so how long ago it polled proves nothing: the member asks its group before it gives up.
        """
        return self._loop.time() - heard_at > self.settings.session_s

    async def until_polled(self) -> None:
        self._polled.clear()
        await self._polled.wait()

    async def poll(self, fetch: FetchSettings, deadline: float) -> dict[Slot, list[ReadRecord]]:
        """From the first partition in turn that has something. Raises ClientError."""
        self._polled_at = self._loop.time()
        self._polled.set()
        slots = self.held
        for _ in slots:
            self._turn += 1
            slot = slots[self._turn % len(slots)]
            try:
                async with asyncio.timeout_at(deadline):
                    records = await self._fetched(slot, fetch)
            except TimeoutError:
                return {}
            if records:
                return {slot: records}
        await asyncio.sleep(max(0.0, deadline - self._loop.time()))
        return {}

    async def _fetched(self, slot: Slot, fetch: FetchSettings) -> list[ReadRecord]:
        since = self._held_since.get(slot)
        if since is None:
            return []
        position = self._positions[slot]
        if position is None:
            position = await self._committed_position(slot)
            if self._held_since.get(slot) != since:
                return []
            self._positions[slot] = position
        try:
            page = await self._pages.page(*slot, position, fetch)
        except OffsetOutOfRangeError:
            beginning = (await self._reader.list_offset(*slot, EARLIEST)).offset
            if self._held_since.get(slot) == since:
                self._positions[slot] = max(position, beginning)
            return []
        if self._held_since.get(slot) != since:
            return []
        self._positions[slot] = page.next_offset
        return page.records

    async def _committed_position(self, slot: Slot) -> int:
        committed = (await self.coordinator.committed([slot]))[slot]
        if committed is not None:
            return committed
        return (await self._reader.list_offset(*slot, EARLIEST)).offset
