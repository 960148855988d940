"""Moves replicas from one log directory of this broker to another (KIP-113, KIP-858).

A copy in the new directory follows the log as a follower does its leader, by the same rules, while
the log is served. When it has caught up, the controller is told of the new directory; when the
metadata say so, the copy gets what it still lacks and takes the log's place between two appends.
A move that is cut short leaves the log as it was, and its copy is dropped: at once, or at the next
start. A crash between the two renames at the end leaves two logs with the same records, of which
`Partitions.adopt` keeps one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any

from broker.disk.interface import ColdReadError
from broker.log.breather import Breather
from broker.log.copied_logs import create_copy, drop_copy, take_over
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.log.uninterrupted import uninterrupted
from broker.partition import Partition
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication import follower
from broker.replication.fetch_check import Diverging, check_fetch
from broker.replication.follower import Answer
from broker.watchers import Watchers, wait_for_any

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 20
_LOOK_AGAIN_S = 1.0
_PAUSE_S_MAX = 0.2

_Key = tuple[str, int]


class Move:
    """One replica on its way. `copy` is None until its directory is made."""

    def __init__(self, partition: Partition, target: str) -> None:
        self.partition = partition
        self.target = target
        self.copy: Log | None = None
        self.is_swapping = False  # past the point where it could be dropped
        self.changed = Watchers()
        self.task: asyncio.Task[None] | None = None


class ReplicaMoves:
    def __init__(
        self,
        node_id: int,
        directories: Mapping[str, LogDirectory],
        ids: Mapping[str, bytes],
        *,
        random: Random,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        announce: Callable[[Partition], None],
        bytes_per_s: Callable[[], float],
    ) -> None:
        """`announce` has the controller told where a replica lies, or will; `ids` are those of
        the directories, as the controller knows them."""
        self._node_id = node_id
        self._directories = directories
        self._ids = ids
        self._random = random
        self._spawn = spawn
        self._announce = announce
        self._bytes_per_s = bytes_per_s
        self._moves: dict[_Key, Move] = {}

    def find(self, partition: Partition) -> Move | None:
        return self._moves.get((partition.topic, partition.index))

    async def begin(self, partition: Partition, target: str) -> None:
        """To where it lies already: ends a move that is under way."""
        # Others may wait here too, and one of them begins a move before this one goes on.
        while (known := self.find(partition)) is not None:
            if known.target == target:
                return
            await self._cancel(known)
        if partition.log_dir != target:
            move = Move(partition, target)
            self._moves[partition.topic, partition.index] = move
            move.task = self._spawn(self._run(move))
            _log.info("moving %s from %s to %s", partition.log.directory, partition.log_dir, target)

    def role_changed(self, partition: Partition) -> None:
        """The metadata say something of it: perhaps where it lies."""
        move = self.find(partition)
        if move is not None:
            move.changed.wake()

    async def stop(self, partition: Partition) -> None:
        """Afterwards its log stays where it is: where it was, or where it was to go."""
        while (move := self.find(partition)) is not None:
            await self._cancel(move)

    async def close(self) -> None:
        for move in list(self._moves.values()):
            await self._cancel(move)

    async def _cancel(self, move: Move) -> None:
        assert move.task is not None
        if not move.is_swapping:
            move.task.cancel()
        await asyncio.wait([move.task])
        # A task that was cancelled before its first step never came to `_run`.
        self._forget(move)

    def _forget(self, move: Move) -> None:
        key = move.partition.topic, move.partition.index
        if self._moves.get(key) is move:
            del self._moves[key]

    async def _run(self, move: Move) -> None:
        partition, directory = move.partition, self._directories[move.target]
        try:
            move.copy = await create_copy(
                directory, partition.log, partition.topic_id, self._random
            )
            await self._follow(move, move.copy)
            move.is_swapping = True
            await uninterrupted(self._swap(move, move.copy))
        except (OSError, KafkaError) as problem:
            _log.error(
                "%s stays in %s and is not moved to %s: %s",
                partition.log.directory, partition.log_dir, move.target, problem,
            )  # fmt: skip
        finally:
            self._forget(move)
            if partition.log_dir != move.target:
                if partition.next_log_dir is not None:
                    partition.next_log_dir = None
                    self._announce(partition)
                if move.copy is not None:
                    await uninterrupted(drop_copy(directory, move.copy))

    async def _follow(self, move: Move, copy: Log) -> None:
        """Until the copy may take the log's place."""
        partition, loop = move.partition, asyncio.get_running_loop()
        while True:
            await self._catch_up(partition.log, copy)
            if partition.next_log_dir is None:
                partition.next_log_dir = move.target
                self._announce(partition)
            if self._is_known(partition, move.target):
                # What is not on the device yet is little by now, so the end is short.
                await copy.flush()
                return
            await wait_for_any([move.changed], loop.time() + _LOOK_AGAIN_S)

    def _is_known(self, partition: Partition, target: str) -> bool:
        """Whether the metadata say that the replica lies there; directories may have no ids."""
        if len(self._ids) < 2 or target not in self._ids:
            return True
        info = partition.info
        return info is not None and info.directory_of(self._node_id) == self._ids[target]

    async def _swap(self, move: Move, copy: Log) -> None:
        partition, directory = move.partition, self._directories[move.target]
        left = partition.log_dir

        async def make_of(source: Log) -> Log:
            await self._catch_up(source, copy, is_limited=False)
            if (copy.start_offset, copy.end_offset) != (source.start_offset, source.end_offset):
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"the copy has {copy.start_offset} to {copy.end_offset}, not "
                    f"{source.start_offset} to {source.end_offset}",
                )
            log = await take_over(directory, copy, self._random)
            for epoch, start_offset in source.epochs.entries:
                log.epochs.assign(epoch, start_offset)  # one that wrote nothing is in no batch
            return log

        before = await partition.move_log(make_of, move.target)
        _log.info("%s is in %s now, no longer in %s", before.directory, move.target, left)
        try:
            await self._directories[left].retire(before)
        except OSError as problem:
            _log.error("%s/%s is left behind: %s", left, before.directory, problem)

    async def _catch_up(self, source: Log, copy: Log, *, is_limited: bool = True) -> None:
        """Until the copy has all that the log has now."""
        breather = Breather()
        while True:
            size = await _step(source, copy)
            if size is None:
                return
            await breather.pause()
            if is_limited:
                await self._slow_down(size)

    async def _slow_down(self, size: float) -> None:
        """As long as these bytes may take. The limit may change meanwhile."""
        while size > (limit := self._bytes_per_s()) / 1000:  # not for less than a millisecond
            pause_s = min(size / limit, _PAUSE_S_MAX)
            await asyncio.sleep(pause_s)
            size -= pause_s * limit


async def _step(source: Log, copy: Log) -> int | None:
    """One question of a follower and what follows from the answer: the bytes copied; None when
    there was nothing to do."""
    source.check_online()
    epoch = source.epochs.latest
    asked = follower.next_question(copy, epoch)
    records: bytes | None = None
    problem = check_fetch(source, asked.fetch_offset, asked.last_fetched_epoch)
    if problem is None:
        records = await _read(source, asked.fetch_offset)
        answer = Answer(
            has_records=bool(records),
            high_watermark=source.high_watermark,
            log_start_offset=source.start_offset,
        )
    elif isinstance(problem, Diverging):
        answer = Answer(diverging=problem, log_start_offset=source.start_offset)
    else:
        answer = Answer(error=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=source.start_offset)
    effects = follower.effects_of(copy, epoch, asked, answer)
    for effect in effects:
        await _carry_out(copy, effect, records)
    return len(records or b"") if effects else None


async def _read(source: Log, offset: int) -> bytes | None:
    while True:
        try:
            piece = source.read(offset, _CHUNK_BYTES, up_to=source.end_offset, at_least_one=True)
        except ColdReadError as cold:
            await cold.warm()
        else:
            return None if piece is None else piece.read()


async def _carry_out(copy: Log, effect: follower.Effect, records: bytes | None) -> None:
    match effect:
        case follower.Truncate(offset):
            await copy.truncate_to(offset)
        case follower.StartOver(offset):
            await copy.truncate_fully_and_start_at(offset)
        case follower.AppendRecords():
            assert records is not None
            view = memoryview(records)
            while not copy.can_append_replicated(view):
                await copy.roll()
            copy.append_replicated(view)
        case follower.AdvanceHighWatermark(offset):
            copy.advance_high_watermark(offset)
        case follower.RaiseLogStart(offset):
            await copy.delete_records(min(offset, copy.high_watermark))
        case follower.Wait(error):
            raise KafkaError(ErrorCode(error), "the copy and its log do not fit together")
