"""One partition as its leader serves it: appends in order, and those who wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from broker.log.breather import Breather
from broker.log.log import Appended, Log, Origin

_NEVER_FLUSH = (1 << 63) - 1


class Partition:
    """On one node the leader is the only replica, so what is appended is committed."""

    def __init__(self, log: Log, *, topic_id: bytes, log_dir: str, leader_epoch: int) -> None:
        self.topic = log.topic
        self.index = log.partition
        self.topic_id = topic_id
        self.log = log
        self.log_dir = log_dir
        self.leader_epoch = leader_epoch
        self.before_append: Callable[[], Awaitable[None]] | None = None
        """Awaited before anything is appended; raises KafkaError to have it refused."""

        self._slow_append = asyncio.Lock()
        self._watchers: dict[asyncio.Future[None], None] = {}

    def append_at_once(self, records: memoryview) -> Appended | None:
        """None when the append has to wait: for a new segment, for the disk, for its turn."""
        log = self.log
        if (
            self._slow_append.locked()
            or self.before_append is not None
            or log.config.flush_messages != _NEVER_FLUSH
            or not log.can_append(len(records))
        ):
            return None
        appended = log.append(records, leader_epoch=self.leader_epoch, origin=Origin.CLIENT)
        self._commit()
        return appended

    async def append(self, records: memoryview) -> Appended:
        """The bytes must be the caller's own: the connection's buffer is reused meanwhile."""
        async with self._slow_append:
            if self.before_append is not None:
                await self.before_append()
            log = self.log
            while not log.can_append(len(records)):
                await log.roll()
            appended = log.append(records, leader_epoch=self.leader_epoch, origin=Origin.CLIENT)
            if log.needs_flush:
                await log.flush()
            self._commit()
            return appended

    async def bring_back(self, breather: Breather) -> None:
        """Tries a log again that an I/O error took offline; raises OSError if it still fails."""
        async with self._slow_append:
            await self.log.reopen(breather)
            await self.log.assign_leader_epoch(self.leader_epoch)
            self._commit()

    def _commit(self) -> None:
        self.log.advance_high_watermark(self.log.end_offset)
        self.wake_watchers()

    def wake_watchers(self) -> None:
        if self._watchers:
            watchers, self._watchers = self._watchers, {}
            for watcher in watchers:
                if not watcher.done():
                    watcher.set_result(None)

    @property
    def has_watchers(self) -> bool:
        return bool(self._watchers)

    def watch(self, watcher: asyncio.Future[None]) -> None:
        self._watchers[watcher] = None

    def unwatch(self, watcher: asyncio.Future[None]) -> None:
        self._watchers.pop(watcher, None)


async def wait_for_change(partitions: Iterable[Partition], until: float) -> None:
    """Returns when one of them has changed, or when the loop's time is `until`."""
    loop = asyncio.get_running_loop()
    changed: asyncio.Future[None] = loop.create_future()
    timer = loop.call_at(until, _set, changed)
    watched = list(partitions)
    for partition in watched:
        partition.watch(changed)
    try:
        await changed
    finally:
        timer.cancel()
        for partition in watched:
            partition.unwatch(changed)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
