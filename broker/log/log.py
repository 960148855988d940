"""One partition's log: batches in, slices of files out, in the order of their offsets.

Append and read are synchronous and never wait for the device. State follows the file: the end
offset and the producers change after a write succeeded, and any failed one takes the log offline.
"""

from __future__ import annotations

import asyncio
import errno
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random

from broker.config.topic import LogConfig
from broker.disk.interface import Disk, FileSlice
from broker.log import (
    appending,
    opening,
    reading,
    retention,
    room,
    syncing,
    timestamps,
    truncation,
    validation,
)
from broker.log.appending import Appended
from broker.log.breather import Breather
from broker.log.epochs import LeaderEpochs
from broker.log.file_names import TopicPartition, parse_directory
from broker.log.opening import OnLoss
from broker.log.origin import Origin
from broker.log.producer_table import ProducerTable
from broker.log.record_check import WorkBudget
from broker.log.recovery import LARGEST_RELATIVE_OFFSET
from broker.log.segment import Segment
from broker.log.timestamps import TimestampOffset
from broker.log.txn_index import AbortedTransaction
from broker.log.uninterrupted import uninterrupted
from broker.log.validation import MAX_RECORDS_PER_BYTE, Checked
from broker.protocol.errors import ErrorCode, KafkaError
from broker.world import WallClock

__all__ = ["AbortedTransaction", "Appended", "Log", "Origin", "TimestampOffset", "parse_directory"]


class Log:
    """Made by `open`. What changes segments awaits `changing`, what syncs them `syncing`."""

    # An object with more than thirty attributes of its own is looked up more slowly.
    __slots__ = (
        "__weakref__", "_bases", "_first_unstable", "_is_closed", "_jitter_ms",
        "_loop_time", "_random", "_seal_task", "_segments", "active", "changing", "clock",
        "config", "directory", "disk", "end_offset", "epochs", "failure", "high_watermark",
        "is_changing", "is_deleted", "last_flush_ms", "no_room", "on_comeback", "on_failure",
        "partition", "pending_snapshots", "producers", "recovery_point", "save_offsets",
        "saved_start", "start_offset",
        "syncing", "topic", "topic_id",
    )  # fmt: skip

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: LogConfig,
        clock: WallClock,
        random: Random | None,
        named: TopicPartition | None = None,
    ) -> None:
        named = named or parse_directory(directory.rpartition("/")[2])
        if named is None:
            raise ValueError(f"{directory} is not named <topic>-<partition>")
        self.topic, self.partition = named
        self.topic_id: bytes | None = None
        self.disk = disk
        self.directory = directory
        self.config = config
        self.clock = clock
        self.start_offset = 0
        self.saved_start = 0  # what the checkpoint is known to hold
        self.end_offset = 0
        self.high_watermark = 0
        self.recovery_point = 0
        self.failure: OSError | None = None
        self.is_deleted = False
        self.no_room: OSError | None = None  # the disk is full: reads go on, appends are refused
        self.producers = ProducerTable()
        self.epochs = LeaderEpochs()
        self.pending_snapshots: dict[int, bytes] = {}
        self.changing = asyncio.Lock()
        self.syncing = asyncio.Lock()
        # Ages are measured by the loop: a wall clock that is set would make everything old.
        self._loop_time = asyncio.get_running_loop().time
        self.last_flush_ms = self.uptime_ms()
        self.on_failure: Callable[[Log, OSError], None] | None = None
        self.on_comeback: Callable[[], None] | None = None
        # Awaited when the checkpoints must not wait: before a truncation, after a deletion.
        self.save_offsets: Callable[[], Awaitable[None]] | None = None
        self._random = random
        self._jitter_ms = 0
        self._first_unstable: int | None = None
        self.is_changing = False
        self._is_closed = False
        self._seal_task: asyncio.Task[None] | None = None
        self._segments: list[Segment] = []
        self._bases: list[int] = []
        self.active: Segment

    @classmethod
    async def open(
        cls,
        disk: Disk,
        directory: str,
        config: LogConfig,
        *,
        clock: WallClock,
        was_clean: bool,
        recovery_point: int = 0,
        start_offset: int = 0,
        high_watermark: int = 0,
        breather: Breather,
        random: Random | None = None,
        named: TopicPartition | None = None,
    ) -> Log:
        """`named` says whose log it is where the directory's name does not."""
        log = cls(disk, directory, config, clock, random, named)
        log.high_watermark = high_watermark
        await opening.load(
            log,
            was_clean=was_clean,
            recovery_point=recovery_point,
            start_offset=start_offset,
            breather=breather,
        )
        return log

    async def reopen(self, breather: Breather, on_loss: OnLoss | None = None) -> None:
        """Back from a failure, by what the files hold. Raises OSError when the disk still fails.

        `on_loss` is awaited before the log forgets that it had more.
        """
        await uninterrupted(opening.reopen(self, breather, on_loss))

    # What the log is

    def uptime_ms(self) -> int:
        return int(self._loop_time() * 1000)

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def last_stable_offset(self) -> int:
        """Transactions that begin before it have ended, and their markers are replicated."""
        unstable = self._first_unstable
        if unstable is None or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.start_offset)

    @property
    def needs_flush(self) -> bool:
        """flush.messages: how many records may be unsynced."""
        return self.end_offset - self.recovery_point >= self.config.flush_messages

    def set_segments(self, segments: Sequence[Segment]) -> None:
        """All segments, oldest first. The last one is written to."""
        if not self._segments or self._segments[-1] is not segments[-1]:
            jitter_ms = min(self.config.segment_jitter_ms, self.config.segment_ms)
            self._jitter_ms = self._random.randint(0, jitter_ms) if self._random else 0
        self._segments = list(segments)
        self._bases = [segment.base_offset for segment in segments]
        self.active = self._segments[-1]

    def segment_number(self, offset: int) -> int:
        """Of the segment that holds this offset, or would."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def segment_at(self, number: int) -> Segment | None:
        return self._segments[number] if number < len(self._segments) else None

    # Writing

    def can_append(self, size: int) -> bool:
        """False: await `roll` first, then ask again."""
        if self.failure is not None:
            self.check_online()
        if self.is_changing or self.no_room is not None:
            return False
        segment, config = self.active, self.config
        if not segment.size:
            return True
        age_ms = self.clock.now_ms() - segment.first_append_ms
        return not (
            segment.size + size > config.segment_bytes
            or age_ms > config.segment_ms - self._jitter_ms
            or segment.index_bytes >= config.segment_index_bytes
            or self.end_offset - segment.base_offset + size * MAX_RECORDS_PER_BYTE
            > LARGEST_RELATIVE_OFFSET
        )

    def append(
        self,
        records: memoryview,
        *,
        leader_epoch: int,
        origin: Origin,
        budget: WorkBudget | None = None,
        checked: Checked | None = None,
    ) -> Appended:
        """As the leader: checks the batches, gives them offsets in place, writes them at once.

        With a budget it may raise TakesLongError: await `check`, and pass on what it returns.
        """
        self.check_writable()
        return appending.append(self, records, leader_epoch, origin, budget, checked)

    async def check(self, records: memoryview, breather: Breather) -> Checked:
        """A client's batches, before they are appended. The memory must be the caller's own."""
        return await validation.check_in_slices(records, self.config, self.clock.now_ms(), breather)

    def can_append_replicated(self, records: memoryview) -> bool:
        """As `can_append`. A compacted leader may have left out so many offsets that an index
        could not name the next one."""
        return self.can_append(len(records)) and appending.fits(self, records)

    def append_replicated(self, records: memoryview) -> Appended:
        """As a follower: offsets and epochs stay. A batch cut off at the end is left out."""
        self.check_writable()
        return appending.append_replicated(self, records)

    def advance_high_watermark(self, offset: int) -> None:
        """Never back, and never beyond the end."""
        offset = min(offset, self.end_offset)
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self._first_unstable is not None:
                self.update_first_unstable()

    def update_first_unstable(self) -> None:
        self._first_unstable = self.producers.first_unstable_offset(self.high_watermark)

    async def assign_leader_epoch(self, epoch: int) -> None:
        """On becoming leader: the epoch begins here even if it never writes (KAFKA-7415).

        It reaches the disk with the next flush. Should a crash forget it, the next leadership
        begins at the same offset and takes its place.
        """
        self.check_online()
        self.epochs.assign(epoch, self.end_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, self.end_offset)

    # Reading

    def read(
        self, offset: int, max_bytes: int, *, up_to: int, at_least_one: bool
    ) -> FileSlice | None:
        """Whole batches from the one that holds `offset`, all before `up_to`; None at the end.

        An empty slice says that there is more, but not even one batch within `max_bytes`.
        ColdReadError: await its `warm`, which never raises, and read again.
        """
        return reading.read(self, offset, max_bytes, up_to, at_least_one)

    def aborted_transactions(self, first: int, up_to: int) -> list[AbortedTransaction]:
        return reading.aborted_transactions(self, first, up_to)

    async def find_by_timestamp(self, timestamp_ms: int, up_to: int) -> TimestampOffset | None:
        """The first record that is not older."""
        return await timestamps.find_by_timestamp(self, timestamp_ms, up_to)

    async def find_max_timestamp(self) -> TimestampOffset | None:
        return await timestamps.find_max_timestamp(self)

    # Changing segments

    async def roll(self) -> None:
        """A new segment for the next batch. The old one is synced behind the scenes."""
        await uninterrupted(self._roll(self.active))

    async def _roll(self, full: Segment) -> None:
        async with self.changing:
            self.check_online()
            if self.no_room is not None:
                await room.look_for_room(self)
            elif self.active is full and full.size:
                await self.roll_locked()

    async def roll_locked(self) -> None:
        """For those that hold `changing`."""
        try:
            with self.no_appends():
                await syncing.roll(self)
        except OSError as problem:
            raise self.refuse(problem) from problem
        if self._seal_task is None or self._seal_task.done():
            self._seal_task = asyncio.create_task(syncing.seal_behind(self))

    @contextmanager
    def no_appends(self) -> Iterator[None]:
        """`can_append` says no meanwhile, and who then awaits `roll` waits for the lock."""
        self.is_changing = True
        try:
            yield
        finally:
            self.is_changing = False

    async def flush(self) -> None:
        """After it everything that was appended before it survives a power loss."""
        self.check_online()
        await uninterrupted(syncing.flush(self, self.end_offset))

    async def truncate_to(self, offset: int) -> None:
        await uninterrupted(truncation.truncate_to(self, offset))

    async def truncate_fully_and_start_at(self, offset: int) -> None:
        await uninterrupted(truncation.truncate_fully_and_start_at(self, offset))

    async def delete_records(self, before: int) -> int:
        """The new start offset; -1 stands for the high watermark."""
        return await uninterrupted(retention.delete_records(self, before))

    async def apply_retention(self) -> int:
        """How many segments were deleted."""
        return await uninterrupted(retention.apply_retention(self))

    def expire_producers(self) -> int:
        return self.producers.expire(self.uptime_ms(), self.config.producer_id_expiration_ms)

    async def close(self) -> None:
        """Clean: the next start needs no scan. An offline log is only let go of."""
        if self._is_closed:
            return
        self._is_closed = True
        await uninterrupted(self._close())

    async def _close(self) -> None:
        await self.settle()
        async with self.changing:
            if self.failure is None:
                await syncing.close(self)
            for segment in self._segments:
                segment.file.close()

    async def settle(self) -> None:
        """Waits for what goes on behind the scenes."""
        if self._seal_task is not None:
            await self._seal_task

    def abandon(self) -> None:
        """Lets go of everything as it is, as a crash would."""
        if self._seal_task is not None:
            self._seal_task.cancel()
            self._seal_task = None
        for segment in self._segments:
            segment.file.close()

    # Failing

    def check_online(self) -> None:
        if self.is_deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.directory} was deleted")
        if self.failure is not None:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"{self.directory} is offline: {self.failure}"
            ) from self.failure

    def check_writable(self) -> None:
        if self.failure is not None:
            self.check_online()
        if self.no_room is not None:
            raise self.refuse(self.no_room) from self.no_room
        if self.is_changing or self._is_closed:
            raise RuntimeError(f"{self.directory} is closed or being changed: ask can_append")

    def fail(self, problem: OSError) -> KafkaError:
        """Takes the log offline: after a failed write nothing is known about the next."""
        if self.failure is None:
            self.failure = problem
            if self.on_failure is not None:
                self.on_failure(self, problem)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.directory} failed: {problem}")

    def refuse(self, problem: OSError) -> KafkaError:
        """For what changed nothing when it failed: a full disk leaves the log readable."""
        return room.refuse(self, problem)

    def mark_deleted(self) -> None:
        """For good: whoever still holds the log is told that there is none."""
        self.is_deleted = True
        self.failure = self.failure or OSError(errno.ENOENT, "the log was deleted", self.directory)
