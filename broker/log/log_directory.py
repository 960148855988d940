"""One `log.dir`: the logs in it, their checkpoints, and whether it was stopped cleanly."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

from broker.config.topic import LogConfig
from broker.disk.interface import Disk
from broker.log import checkpoints, identity
from broker.log.breather import Breather
from broker.log.broker_life import (
    NO_BOOT,
    Life,
    life_after_clean_stop,
    marker_of,
    read_life,
    write_life,
)
from broker.log.checkpoints import CorruptCheckpointError, TopicPartition
from broker.log.cleaner import Cleaner, RemovableBelow, no_limit
from broker.log.compaction import Compacted
from broker.log.log import Log, parse_directory
from broker.log.renamed_logs import RenamedLogs, missing_from
from broker.log.room import is_lack_of_room
from broker.log.side_by_side import side_by_side
from broker.protocol.errors import KafkaError
from broker.world import WallClock

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
METADATA_LOG = "__cluster_metadata-0"
"""Kept by the quorum: it is no partition, and no chore of this directory touches it."""

_BEGINS_ANEW = "%s lost records, so the broker begins anew in the cluster: %s"

_log = logging.getLogger(__name__)


class LogDirectory:
    """Paths are relative to the disk, which is rooted at this `log.dir`."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        *,
        clock: WallClock,
        random: Random,
        breather: Breather,
        node_id: int | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self.disk = disk
        self.path = path
        self.identity: identity.Identity | None = None
        self.failure: OSError | None = None
        self.cleaner = Cleaner(disk)
        self._clock = clock
        self._random = random
        self._breather = breather
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._logs: dict[TopicPartition, Log] = {}
        self._renamed = RenamedLogs(disk, path, random)
        self._has_stale_offsets = True  # the checkpoints may name logs that are gone
        self.is_loaded = False
        self.on_health: Callable[[], None] | None = None
        """Called when a log has failed, or is back."""

        self.last_life = Life()
        """Of the broker that used this directory, so far as it was noted."""

        self._checkpointing = asyncio.Lock()

    @property
    def logs(self) -> list[Log]:
        return [self._logs[key] for key in sorted(self._logs)]

    @property
    def cluster_id(self) -> str:
        assert self.identity is not None, "the directory is not loaded yet"
        return self.identity.cluster_id

    @property
    def is_offline(self) -> bool:
        """Until every log in it is back."""
        if not self.is_loaded:
            return True
        return self.failure is not None and any(log.failure for log in self._logs.values())

    @property
    def is_in_doubt(self) -> bool:
        """Whether a log may have lost its end, unseen: it failed, and is not back."""
        failures = (log.failure for log in self._logs.values())
        return any(each is not None and not is_lack_of_room(each) for each in failures)

    @property
    def is_behind(self) -> bool:
        """Whether a deleted log still has its name."""
        return self._renamed.is_behind

    def go_without(self, problem: OSError) -> None:
        self.failure = problem
        _log.error("%s cannot be read; going on without it: %s", self.path, problem)

    async def identify(self) -> identity.Identity:
        """Touches nothing. Raises NotFormattedError, WrongDirectoryError or OSError."""
        self.identity = await identity.read_identity(self.disk, self.path)
        identity.check_owner(self.identity, self.path, self._node_id, self._cluster_id)
        return self.identity

    async def load(self, config_of: Callable[[str], LogConfig], *, boot_id: str = "") -> list[Log]:
        """All logs that are here, recovered. Raises what `identify` does."""
        await self.identify()
        names = await self.disk.list("")
        was_clean = CLEAN_SHUTDOWN in names
        if was_clean:
            marker = await self.disk.read(CLEAN_SHUTDOWN)
            self.last_life = await life_after_clean_stop(self.disk, marker, boot_id)
        else:
            self.last_life = await read_life(self.disk, boot_id)
        # Whatever happens from here on, this is not a clean stop any more.
        await self.disk.delete(CLEAN_SHUTDOWN)
        points = await self._read(checkpoints.RECOVERY_POINT)
        starts = await self._read(checkpoints.LOG_START)
        marks = await self._read(checkpoints.HIGH_WATERMARK)
        await self.cleaner.load()
        lost = self._tell_what_is_missing(names, was_clean, points)
        self._renamed.found(names)
        logs = [name for name in names if name != METADATA_LOG]
        keys = {name: key for name in logs if (key := parse_directory(name)) is not None}
        found: dict[str, Log] = {}

        async def open_log(name: str) -> None:
            key = keys[name]
            topic_id = await identity.read_topic_id(self.disk, name)
            log = await Log.open(
                self.disk,
                name,
                config_of(key.topic),
                clock=self._clock,
                was_clean=was_clean,
                recovery_point=points.get(key, 0),
                start_offset=starts.get(key, 0),
                high_watermark=marks.get(key, 0),
                breather=self._breather,
                random=self._random,
            )
            log.topic_id = topic_id
            found[name] = log

        try:
            await side_by_side(keys, open_log)
        except BaseException:
            # Whoever keeps the problem keeps what it was met in, and so every open file.
            for log in found.values():
                log.abandon()
            raise
        ends = {key: max(points.get(key, 0), marks.get(key, 0)) for key in keys.values()}
        lost += [name for name, key in keys.items() if found[name].end_offset < ends[key]]
        if lost and self.last_life.is_unharmed:
            _log.error(_BEGINS_ANEW, self.path, ", ".join(lost))
            await self.lose_trust()
        # All or nothing: no chore may touch a part of them.
        for name in keys:
            self.adopt(found[name])
        self.is_loaded = True
        return self.logs

    def _tell_what_is_missing(
        self, names: list[str], was_clean: bool, recovery_points: dict[TopicPartition, int]
    ) -> list[str]:
        """Which logs should be here, and are not."""
        if not was_clean and any(parse_directory(each) for each in names if each != METADATA_LOG):
            _log.warning("%s was not stopped cleanly; its logs are checked", self.path)
        ends = {f"{key[0]}-{key[1]}": offset for key, offset in sorted(recovery_points.items())}
        missing = missing_from(names, [name for name, offset in ends.items() if offset])
        for name in missing:
            _log.error(
                "%s/%s is missing, with records up to offset %d; restore it from a copy",
                self.path,
                name,
                ends[name],
            )
        return missing

    async def note_life(self, broker_epoch: int, boot_id: str) -> None:
        """Durable when it returns: from now on a kill harms nothing. Raises OSError."""
        life = self.last_life
        await write_life(self.disk, broker_epoch, boot_id)
        if self.last_life is life:  # or trust was lost meanwhile
            self.last_life = Life(broker_epoch, is_unharmed=True)

    async def lose_trust(self) -> None:
        """Durable when it returns: no start will find that this life vouches. Raises OSError."""
        self.last_life = self.last_life._replace(is_unharmed=False)
        await write_life(self.disk, self.last_life.broker_epoch, NO_BOOT)

    async def _read(self, name: str) -> dict[TopicPartition, int]:
        """A damaged checkpoint only costs time: the logs know what they hold."""
        try:
            return await checkpoints.read_offsets(self.disk, name)
        except CorruptCheckpointError as problem:
            _log.warning("%s: %s; going on without it", self.path, problem)
            return {}

    def adopt(self, log: Log) -> None:
        log.on_failure = self._on_failure
        log.on_comeback = self._on_comeback
        log.save_offsets = self.checkpoint
        self._logs[log.topic, log.partition] = log

    def _on_failure(self, failed: Log, problem: OSError) -> None:
        _log.error("%s/%s is offline: %s", self.path, failed.directory, problem)
        # A full disk still reads, and the others notice themselves when they need room.
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            self.failure = problem
            for log in self.logs:
                log.failure = log.failure or problem
        if self.on_health is not None:
            self.on_health()

    def _on_comeback(self) -> None:
        if not any(log.failure for log in self._logs.values()):
            self.failure = None
        if self.on_health is not None:
            self.on_health()

    async def create(self, topic: str, partition: int, topic_id: bytes, config: LogConfig) -> Log:
        """An empty log, or the one of this very topic if it is here. Raises OSError."""
        name = f"{topic}-{partition}"
        if self.is_loaded:
            # What the checkpoints say of an older log of this name would be taken for this one's.
            await self._forget_stale_offsets()
        was_there = await self.make_way(name, topic_id)
        try:
            await self.disk.make_directory(name)
            await identity.write_topic_id(self.disk, name, topic_id)
            log = await Log.open(
                self.disk,
                name,
                config,
                clock=self._clock,
                was_clean=False,
                breather=Breather(),
                random=self._random,
            )
        except OSError:
            if not was_there:
                with suppress(OSError):
                    await self.disk.delete_directory(name)
            raise
        log.topic_id = topic_id
        self.adopt(log)
        return log

    async def make_way(self, name: str, topic_id: bytes) -> bool:
        """Frees the name from another topic's log; whether this topic's own is there."""
        await self._renamed.free(name)
        if not await self.disk.list(name):
            return False
        if await identity.read_topic_id(self.disk, name) == topic_id:
            return True
        await self._renamed.leave_stray(name)
        return False

    async def release(self, log: Log) -> None:
        """For a log that nobody will serve: its files are kept under another name."""
        del self._logs[log.topic, log.partition]
        await log.close()
        await self._renamed.leave_stray(log.directory)

    async def retire(self, log: Log) -> None:
        """The log's topic was deleted: its name is free at once, its files go in a `sweep`.

        Raises OSError when it cannot be renamed; `rename_doomed` tries again.
        """
        del self._logs[log.topic, log.partition]
        self.cleaner.forget(log.topic, log.partition)
        self._has_stale_offsets = True
        self._renamed.doom(log.directory)
        log.on_failure = log.on_comeback = log.save_offsets = None
        self._on_comeback()
        async with log.changing, log.syncing:
            log.mark_deleted()
            log.abandon()
            await self._renamed.free(log.directory)

    async def rename_doomed(self) -> None:
        await self._renamed.rename_doomed()

    # Chores, each on its own interval

    async def sweep(self) -> None:
        """Deletes the files of deleted logs, however many they are."""
        names = self._renamed.to_delete
        if not names or not self.is_loaded:
            return
        # A checkpoint that still names them would have them missed at the next start.
        await self._forget_stale_offsets()
        for name in names:
            await self._renamed.delete(name)

    async def checkpoint(self) -> None:
        """What the next start may rely on."""
        if not self.is_loaded:
            return
        # One by one, or an older state might be written over a newer one.
        async with self._checkpointing:
            await self._write_checkpoints()

    async def _forget_stale_offsets(self) -> None:
        """Of logs that are gone by now. Not the flag alone says it: a write may be under way."""
        async with self._checkpointing:
            if self._has_stale_offsets:
                await self._write_checkpoints()

    async def _write_checkpoints(self) -> None:
        self._has_stale_offsets = False
        try:
            await self._write_all_offsets()
        except BaseException:
            self._has_stale_offsets = True
            raise

    async def _write_all_offsets(self) -> None:
        points = {key: log.recovery_point for key, log in self._logs.items()}
        starts = {key: log.start_offset for key, log in self._logs.items() if log.start_offset}
        marks = {key: log.high_watermark for key, log in self._logs.items()}
        await checkpoints.write_offsets(self.disk, checkpoints.RECOVERY_POINT, points)
        await checkpoints.write_offsets(self.disk, checkpoints.LOG_START, starts)
        await checkpoints.write_offsets(self.disk, checkpoints.HIGH_WATERMARK, marks)
        await self.cleaner.save(self._logs.values())

    async def compact_the_dirtiest(
        self, removable_below: RemovableBelow = no_limit
    ) -> Compacted | None:
        """One pass over one log; None when none is dirty enough."""
        healthy = [log for log in self.logs if log.failure is None]
        return await self.cleaner.compact_the_dirtiest(healthy, removable_below)

    async def apply_retention(self) -> int:
        """How many segments were deleted."""
        count = 0
        breather = Breather()
        for log in self.logs:
            if log.failure is None:
                try:
                    count += await log.apply_retention()
                except KafkaError as problem:
                    _log.warning("%s/%s: %s", self.path, log.directory, problem)
            await breather.pause()
        return count

    async def flush_what_is_due(self) -> None:
        """flush.ms: how old unsynced records may become."""
        breather = Breather()
        for log in self.logs:
            is_due = log.uptime_ms() - log.last_flush_ms >= log.config.flush_ms
            if is_due and log.failure is None and log.recovery_point < log.end_offset:
                await self._try(log.flush)
            await breather.pause()

    async def expire_producers(self) -> int:
        count = 0
        breather = Breather()
        for log in self.logs:
            count += log.expire_producers()
            await breather.pause()
        return count

    async def _try(self, chore: Callable[[], Awaitable[None]]) -> None:
        try:
            await chore()
        except KafkaError as problem:
            _log.warning("%s: %s", self.path, problem)

    async def close(self, broker_epoch: int | None = None) -> None:
        """The marker comes last: it vouches for everything before it.

        Of a broker that was never let in, it says what it said of the life before: the cluster
        knows no other.
        """
        await self.close_logs()
        # A start that failed half-way says nothing about the logs that it did not reach.
        if not self.is_loaded or any(log.failure for log in self.logs):
            return
        await self.checkpoint()
        life = self.last_life if broker_epoch is None else Life(broker_epoch, is_unharmed=True)
        await self.disk.replace(CLEAN_SHUTDOWN, marker_of(life))
        _log.info("%s was stopped cleanly", self.path)

    async def close_logs(self) -> None:
        """Which of them could not be closed cleanly is known then."""
        await side_by_side(self.logs, lambda log: self._try(log.close))
