"""One led partition of an internal topic: the shell around a state machine.

A shard belongs to one leader epoch of its partition. It replays the whole partition (`LOADING`),
then takes steps (`ACTIVE`), until the epoch ends (`CLOSED`); a new epoch gets a new shard.

Steps run one after the other on the loop. All steps that came in one turn of the loop are written
as one append: each is decided, its records are replayed at once so that the next one sees them,
and nothing is answered before the high watermark has passed the append. The shard asks before the
first step whether the partition takes an append, so a refusal finds nothing replayed. Should the
append itself fail, memory is ahead of the log: the machine is thrown away and loaded again.

An append that has to wait for a new segment, or for the disk, holds up all later steps.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, NamedTuple, TypeVar

from broker.coordination.batches import build_batches, build_marker, size_of
from broker.coordination.errors import for_clients
from broker.coordination.held_answers import HeldAnswers
from broker.coordination.loading import replay_partition
from broker.coordination.step import (
    CoordinatorRecord,
    Machine,
    Now,
    Reply,
    Step,
    Ticket,
    TransactionalMachine,
    TransactionEnd,
)
from broker.log.origin import Origin
from broker.log.record_check import WorkBudget
from broker.observe.events import emit
from broker.partition import Partition
from broker.protocol.batch import HEADER_SIZE
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.leader import ACKS_ALL
from broker.world import WallClock

_log = logging.getLogger(__name__)

MachineT = TypeVar("MachineT", bound=Machine)

_STEPS_AT_ONCE = 256
_RETRY_S = 1.0


class ShardState(Enum):
    LOADING = auto()
    ACTIVE = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSettings:
    load_buffer_bytes: int
    commit_timeout_s: float
    codec: int = 0
    """How batches are compressed: a number of `Codec`."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all shards of a node share."""

    clock: WallClock
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    settings: ShardSettings
    decided: Callable[[Partition, Step], None] = lambda partition, step: None
    """Called with every step that is taken, before its records are written."""


class _Job(NamedTuple):
    run: Callable[[Any, Ticket, Now], Step]
    ticket: Ticket
    is_alone: bool = False


class Shard(Generic[MachineT]):
    """`machine` is only to be looked at while the shard is active."""

    def __init__(
        self, partition: Partition, make_machine: Callable[[], MachineT], around: Surroundings
    ) -> None:
        self.partition = partition
        self.leader_epoch = partition.lead().leader_epoch
        self.machine = make_machine()
        self.state = ShardState.LOADING
        self._make_machine = make_machine
        self._around = around
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Job] = deque()
        self._answers = HeldAnswers(partition, around.settings.commit_timeout_s)
        self._end_offset = 0
        self._is_scheduled = False
        self._is_writing = False
        self._ticks_not_before_s = 0.0
        self._tick_timer: asyncio.TimerHandle | None = None
        partition.watchers.call(self._partition_changed)
        around.spawn(self._load())

    # Requests

    def ask(self, run: Callable[[MachineT, Ticket, Now], Step]) -> asyncio.Future[Any]:
        """Done when the machine has replied: with its reply, or with a KafkaError as the result.

        Raises KafkaError when the shard is not active.
        """
        return self._enqueue(_Job(run, Ticket()))

    def ask_alone(self, run: Callable[[MachineT, Ticket, Now], Step]) -> asyncio.Future[Any]:
        """Same as `ask`, for a step whose decision looks at the partition's log.

        The log has everything that was decided before, and what the step writes goes in by itself.
        Steps with records of a transaction, and with its end, are asked for in this way: producers
        are fenced by what the log knows of them.
        """
        return self._enqueue(_Job(run, Ticket(), is_alone=True))

    def _enqueue(self, job: _Job) -> asyncio.Future[Any]:
        if self.state is not ShardState.ACTIVE:
            raise self._not_active()
        outcome = self._answers.expect(job.ticket)
        self._queue.append(job)
        self._schedule()
        return outcome

    def tell(self, run: Callable[[MachineT, Now], Step]) -> None:
        """A step that nobody waits for; also while the shard loads, for afterwards."""
        if self.state is not ShardState.CLOSED:
            self._queue.append(_Job(lambda machine, _, now: run(machine, now), Ticket()))
            self._schedule()

    def _not_active(self) -> KafkaError:
        name = f"{self.partition.topic}-{self.partition.index}"
        if self.state is ShardState.LOADING:
            return KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{name} is being loaded")
        return KafkaError(ErrorCode.NOT_COORDINATOR, f"{name} is led elsewhere")

    @property
    def is_writing(self) -> bool:
        """Whether memory may hold steps that are not in the log yet; no step is taken meanwhile."""
        return self._is_writing

    @property
    def end_offset(self) -> int:
        """Where the log ended when this memory was made of it."""
        return self._end_offset

    # Steps

    def _schedule(self) -> None:
        if not self._is_scheduled and not self._is_writing and self.state is ShardState.ACTIVE:
            self._is_scheduled = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        """Takes the steps that have come, and writes them together."""
        self._is_scheduled = False
        if self.state is not ShardState.ACTIVE or self._is_writing:
            return
        if self.partition.before_append is not None or self.partition.log.no_room is not None:
            self._is_writing = True
            self._around.spawn(self._drain_when_clear())
        else:
            self._take_steps(self._refusal())

    async def _drain_when_clear(self) -> None:
        """On a disk that was full, or while only readers are served: asks before anything is
        decided, because a step that could not be written would cost a new load."""
        refusal = ErrorCode.NONE
        try:
            if self.partition.before_append is not None:
                await self.partition.before_append()
            if self.partition.log.no_room is not None:
                await self.partition.log.roll()
        except KafkaError as problem:
            refusal = for_clients(problem.code)
        self._is_writing = False
        if self.state is ShardState.ACTIVE:
            self._take_steps(refusal or self._refusal())

    def _take_steps(self, refusal: ErrorCode) -> None:
        """With a refusal, steps that would write are refused and all others are taken."""
        units: list[Sequence[CoordinatorRecord]] = []
        replies: list[Reply] = []
        end: TransactionEnd | None = None
        now = self._now()
        for _ in range(min(len(self._queue), _STEPS_AT_ONCE)):
            job = self._queue[0]
            if job.is_alone and units:
                break
            self._queue.popleft()
            step = self._decided(job, now)
            if step.writes:
                wanted = [step.records] if step.is_atomic else [[each] for each in step.records]
                code = refusal or self._too_large(wanted)
                if code:
                    step = self._refused(step, code, now)
                else:
                    self._replay(step)
                    units += [unit for unit in wanted if unit]
                    end = step.ends
            replies += step.replies
            self._around.decided(self.partition, step)
            if job.is_alone:
                break
        if units:
            settings = self._around.settings
            batches = build_batches(units, self._batch_bytes_max, settings.codec, now.wall_ms)
            self._write(batches, replies)
        elif end is not None:
            self._write(deque([build_marker(end, now.wall_ms)]), replies)
        else:
            self._release_when_committed(replies)
        self._set_tick_timer()
        if self._queue:
            self._schedule()

    def _replay(self, step: Step) -> None:
        for record in step.records:
            self.machine.replay(record)
        if step.ends is not None:
            assert isinstance(self.machine, TransactionalMachine)
            self.machine.end_transaction(step.ends)

    def _decided(self, job: _Job, now: Now) -> Step:
        try:
            return job.run(self.machine, job.ticket, now)
        except Exception as problem:
            # A decision changes nothing that lasts, so only this request is lost.
            _log.exception("%s: a request failed", self.partition.log.directory)
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            return Step(replies=[Reply(job.ticket, KafkaError(code, str(problem)))])

    def _refusal(self) -> ErrorCode:
        """Why the partition would not take an append now."""
        if not self.partition.leads_in(self.leader_epoch):
            return ErrorCode.NOT_COORDINATOR
        try:
            self.partition.log.check_online()
            self.partition.check_acks(ACKS_ALL)
        except KafkaError as refused:
            return for_clients(refused.code)
        return ErrorCode.NONE

    def _too_large(self, units: list[list[CoordinatorRecord]]) -> ErrorCode:
        fit = all(size_of(unit) <= self._batch_bytes_max for unit in units)
        return ErrorCode.NONE if fit else for_clients(ErrorCode.MESSAGE_TOO_LARGE)

    def _refused(self, step: Step, code: ErrorCode, now: Now) -> Step:
        self._ticks_not_before_s = self._loop.time() + _RETRY_S
        if step.refused is None:
            return Step()
        instead = step.refused(code, now)
        assert not instead.writes, "what follows a refusal cannot need another append"
        return instead

    def _now(self) -> Now:
        return Now(self._loop.time(), self._around.clock.now_ms())

    # Writing

    @property
    def _batch_bytes_max(self) -> int:
        """How large the records of one batch may be together."""
        config = self.partition.log.config
        return min(config.max_message_bytes, config.segment_bytes) - HEADER_SIZE

    def _write(self, batches: deque[memoryview], replies: list[Reply]) -> None:
        try:
            while batches:
                budget = WorkBudget()
                if self.partition.append_at_once(batches[0], budget, Origin.COORDINATOR) is None:
                    self._is_writing = True
                    self._around.spawn(self._write_later(batches, replies))
                    return
                batches.popleft()
        except KafkaError as problem:
            self._lost(replies, problem)
            return
        self._written(replies)

    async def _write_later(self, batches: deque[memoryview], replies: list[Reply]) -> None:
        """Never cancelled: the partition must learn of what its log has."""
        try:
            while batches:
                await self.partition.append_own(batches.popleft(), self.leader_epoch)
        except KafkaError as problem:
            self._is_writing = False
            self._lost(replies, problem)
            return
        self._is_writing = False
        if self.state is ShardState.ACTIVE:
            self._written(replies)
            self._schedule()

    def _lost(self, replies: list[Reply], problem: KafkaError) -> None:
        """Memory holds what the log does not: the state is what the log gives, so it is read."""
        code = for_clients(problem.code)
        for reply in replies:
            self._answer(reply.ticket, KafkaError(code, problem.message))
        if self.state is not ShardState.ACTIVE:
            return
        _log.error("%s: its state is loaded again: %s", self.partition.log.directory, problem)
        self._answers.turn_away(self.machine.tickets())
        self.state = ShardState.LOADING
        self._around.spawn(self._load())

    def _written(self, replies: list[Reply]) -> None:
        self._end_offset = self.partition.log.end_offset
        self._release_when_committed(replies)

    # Answers

    def _release_when_committed(self, replies: list[Reply]) -> None:
        if replies:
            self._answers.hold(self._end_offset, replies)

    def _partition_changed(self) -> None:
        """In the moment in which the high watermark, or the leader, has changed."""
        if not self.partition.leads_in(self.leader_epoch):
            self.close()
        else:
            self._answers.release()

    def _answer(self, ticket: Ticket, result: Any) -> None:
        self._answers.answer(ticket, result)

    # Time

    def _set_tick_timer(self) -> None:
        deadline = self.machine.deadline_s
        if deadline is not None:
            deadline = max(deadline, self._ticks_not_before_s)
        if self._tick_timer is not None:
            if deadline is not None and self._tick_timer.when() <= deadline:
                return  # an early timer sets itself again
            self._tick_timer.cancel()
            self._tick_timer = None
        if deadline is not None:
            self._tick_timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._tick_timer = None
        if self.state is ShardState.ACTIVE:
            self.tell(lambda machine, now: machine.tick(now))

    # Begin and end

    async def _load(self) -> None:
        while self.state is ShardState.LOADING:
            self.machine = self._make_machine()
            try:
                end = await replay_partition(
                    self.partition,
                    self.machine,
                    buffer_bytes=self._around.settings.load_buffer_bytes,
                    is_over=lambda: self.state is not ShardState.LOADING,
                )
            except (KafkaError, OSError) as problem:
                _log.error("%s cannot be loaded: %s", self.partition.log.directory, problem)
                await asyncio.sleep(_RETRY_S)
                continue
            if self.state is ShardState.LOADING:
                self._end_offset = end
                self.state = ShardState.ACTIVE
                emit("loaded", self.partition.topic, self.partition.index, end, self.leader_epoch)
                self._queue.appendleft(_Job(lambda machine, _, now: machine.loaded(now), Ticket()))
                self._schedule()

    def close(self) -> None:
        """End with the leader epoch. Pending requests are answered NOT_COORDINATOR."""
        if self.state is ShardState.CLOSED:
            return
        self.state = ShardState.CLOSED
        self.partition.watchers.call_no_more(self._partition_changed)
        if self._tick_timer is not None:
            self._tick_timer.cancel()
        self._queue.clear()
        self._answers.close()
