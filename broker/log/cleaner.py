"""Who compacts what and when: one for each log directory, with its `cleaner-offset-checkpoint`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from broker.disk.interface import Disk
from broker.log import checkpoints
from broker.log.compaction import DEFAULT_MAX_KEYS, NO_LIMIT, Compacted, compact
from broker.log.compaction_choice import Dirt, choose, find_dirt
from broker.log.log import Log
from broker.protocol.batch import CorruptBatchError
from broker.protocol.errors import KafkaError

RemovableBelow = Callable[[Log], Awaitable[int]]
"""Tombstones and markers of the log from this offset on stay: a replica may lack them."""


async def no_limit(log: Log) -> int:
    """For a log that has no other replica."""
    return NO_LIMIT


class Cleaner:
    def __init__(self, disk: Disk, *, max_keys: int = DEFAULT_MAX_KEYS) -> None:
        self._disk = disk
        self._max_keys = max_keys
        self._cleaned_to: dict[checkpoints.TopicPartition, int] = {}
        self._saved: dict[checkpoints.TopicPartition, int] = {}
        self.uncleanable: dict[checkpoints.TopicPartition, CorruptBatchError] = {}
        """Logs with a damaged segment. They are left alone until the next start."""

    async def load(self) -> None:
        try:
            self._cleaned_to = await checkpoints.read_offsets(self._disk, checkpoints.CLEANER)
        except checkpoints.CorruptCheckpointError:
            # Everything counts as dirty, which costs time but is always right.
            self._cleaned_to = {}
        self._saved = dict(self._cleaned_to)

    async def save(self, logs: Iterable[Log]) -> None:
        """Awaited by a log before it is truncated, with its recovery point lowered already.

        What is compacted is synced, so it never reaches beyond the recovery point (KAFKA-3330).
        """
        for log in logs:
            name = (log.topic, log.partition)
            if name in self._cleaned_to:
                self._cleaned_to[name] = min(self._cleaned_to[name], log.recovery_point)
        if self._cleaned_to != self._saved:
            now = dict(self._cleaned_to)
            await checkpoints.write_offsets(self._disk, checkpoints.CLEANER, now)
            self._saved = now

    def cleaned_to(self, log: Log) -> int:
        return self._cleaned_to.get((log.topic, log.partition), 0)

    def forget(self, topic: str, partition: int) -> None:
        """The log was deleted: a new one of the same name is all dirty."""
        self._cleaned_to.pop((topic, partition), None)
        self.uncleanable.pop((topic, partition), None)

    async def compact_the_dirtiest(
        self, logs: Iterable[Log], removable_below: RemovableBelow = no_limit
    ) -> Compacted | None:
        """One pass over one log; None when none is dirty enough."""
        found: list[tuple[Log, Dirt]] = []
        for log in logs:
            if log.config.cleanup_compact and (log.topic, log.partition) not in self.uncleanable:
                await _roll_if_overdue(log)
                found.append((log, find_dirt(log, self.cleaned_to(log), log.clock.now_ms())))
        chosen = choose(found)
        if chosen is None:
            return None
        log, dirt = chosen
        try:
            limit = await removable_below(log)
            result = await compact(log, dirt, max_keys=self._max_keys, removable_below=limit)
        except CorruptBatchError as damage:
            self.uncleanable[log.topic, log.partition] = damage
            return None
        if result.is_complete:
            self._cleaned_to[log.topic, log.partition] = result.cleaned_to
            await self.save([log])
        return result


async def _roll_if_overdue(log: Log) -> None:
    """max.compaction.lag.ms holds for the active segment, too, but only rolled ones are compacted.

    The next pass finds it: a segment is synced behind the scenes first.
    """
    age_ms = log.clock.now_ms() - log.active.first_append_ms
    if log.active.size and age_ms > log.config.max_compaction_lag_ms:
        # A log whose disk fails says so itself.
        with suppress(KafkaError):
            await log.roll()
