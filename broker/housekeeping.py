"""What a node does unasked: flush, expire, delete, compact, write checkpoints, come back online.

Each chore runs on its own interval and never ends; a chore that fails says so and runs again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from broker.cleaned_replicas import CleanedReplicas
from broker.log.breather import Breather
from broker.log.log_directory import LogDirectory
from broker.protocol.errors import KafkaError

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

_COMEBACK_INTERVAL_S = 1.0
_INTERVAL_S_MAX = 86400.0

Chore = Callable[[], Awaitable[object]]


class Housekeeping:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._tasks: list[asyncio.Task[None]] = []
        self._cleaned = CleanedReplicas(node)

    def start(self) -> None:
        config = self._node.config
        self._every(config.log_retention_check_interval_ms / 1000, self._apply_retention)
        self._every(config.log_flush_scheduler_interval_ms / 1000, self._flush_what_is_due)
        self._every(config.log_flush_offset_checkpoint_interval_ms / 1000, self._checkpoint)
        self._every(config.producer_id_expiration_check_interval_ms / 1000, self._expire_producers)
        self._every(_COMEBACK_INTERVAL_S, self._bring_back)
        lag_s = max(config.replica_lag_time_max_ms / 1000 / 2, 0.01)
        self._every(lag_s, self._node.partitions.check_lag)
        self._every(_COMEBACK_INTERVAL_S, self._sweep)
        if config.log_cleaner_enable:
            self._every(config.log_cleaner_backoff_ms / 1000, self._compact)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()
        self._cleaned.close()

    def _every(self, interval_s: float, chore: Chore) -> None:
        self._spawn(_repeat(min(interval_s, _INTERVAL_S_MAX), chore))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))

    async def _in_each_directory(self, chore: Callable[[LogDirectory], Awaitable[object]]) -> None:
        """One bad disk must not keep the others from being looked after."""
        for path, directory in self._node.partitions.directories.items():
            try:
                await chore(directory)
            except (OSError, KafkaError) as problem:
                _log.error("%s: a chore failed and will be tried again: %s", path, problem)

    async def _apply_retention(self) -> None:
        if self._node.role.is_configured:
            await self._in_each_directory(LogDirectory.apply_retention)

    async def _flush_what_is_due(self) -> None:
        await self._in_each_directory(LogDirectory.flush_what_is_due)

    async def _checkpoint(self) -> None:
        await self._in_each_directory(LogDirectory.checkpoint)

    async def _expire_producers(self) -> None:
        if self._node.role.is_configured:
            await self._in_each_directory(LogDirectory.expire_producers)

    async def _sweep(self) -> None:
        await self._in_each_directory(LogDirectory.sweep)

    async def _compact(self) -> None:
        if self._node.role.is_configured:
            await self._in_each_directory(self._compact_what_is_dirty)

    async def _compact_what_is_dirty(self, directory: LogDirectory) -> None:
        breather, cleaned = Breather(), self._cleaned
        while await directory.compact_the_dirtiest(cleaned.removable_below) is not None:
            await breather.pause()

    async def _bring_back(self) -> None:
        """A log that a full or failing disk took offline is tried again."""
        breather, role = Breather(), self._node.role
        for partition in self._node.partitions.offline():
            try:
                await partition.bring_back(breather)
            except (OSError, KafkaError) as problem:
                _log.debug("%s is still offline: %s", partition.log.directory, problem)
            else:
                _log.info("%s is online again", partition.log.directory)
        # What came back at the first try was no news for the controller.
        if role.offline.judged() or role.offline.has_news():
            role.membership.hurry()


async def _repeat(interval_s: float, chore: Chore) -> None:
    while True:
        await asyncio.sleep(interval_s)
        try:
            await chore()
        except Exception:
            _log.exception("housekeeping failed and will be tried again: %s", chore.__name__)
